# SPDX-License-Identifier: Apache-2.0
# Runs the rows of corral.exe on a real machine with Windows 10 or 11, and prints a report to send.
#
#     powershell -ExecutionPolicy Bypass -File windows-rows.ps1 -Programs DIR
#
# DIR has corral.exe and child.exe of a cross build (`make windows`: build/windows and build/windows/tests/windows).
#
# Should:   run as an ordinary user; each row has a control outside that succeeds, an attempt inside that must fail, a
#           twin inside that must succeed, and a verdict from the state of the machine.
# Must not: change anything outside a new directory beneath the user's profile, which it removes.
# Fails:    with exit code 1 if a row fails.
param([Parameter(Mandatory = $true)][string]$Programs)
$ErrorActionPreference = 'Stop'

$place = Join-Path $env:USERPROFILE ('corral-rows-' + [guid]::NewGuid().ToString('N').Substring(0, 8))
$work = Join-Path $place 'work'
$outside = Join-Path $place 'outside'
$shown = Join-Path $place 'shown'
$work, $outside, $shown | ForEach-Object { New-Item -ItemType Directory -Path $_ | Out-Null }
foreach ($name in 'corral.exe', 'child.exe') {
    $found = Get-ChildItem -Path $Programs -Recurse -Filter $name | Select-Object -First 1
    if (-not $found) { throw "$name is not in $Programs" }
    Copy-Item $found.FullName $work
}
$corral = Join-Path $work 'corral.exe'
$child = Join-Path $work 'child.exe'
$state = Join-Path $env:LOCALAPPDATA 'Corral'
$script:failed = 0
$script:number = 0

function Inside([string[]]$Options, [string[]]$Words) {
    $all = @('run', '--json', '--workspace', $work) + $Options + @('--', $child) + $Words
    $text = & $corral @all 2>$null
    if (-not $text) { return $null }
    return ($text | Out-String | ConvertFrom-Json)
}

function Outside([string[]]$Words) { return (& $child @Words | Out-String).Trim() }

function Row([string]$Name, [scriptblock]$Body) {
    $script:number++
    try {
        & $Body
        Write-Output "ok $script:number - $Name"
    } catch {
        $script:failed++
        Write-Output "# $($_.Exception.Message)"
        Write-Output "not ok $script:number - $Name"
    }
}

function Expect([bool]$Truth, [string]$Said) { if (-not $Truth) { throw $Said } }

# An attempt that succeeds outside and is denied inside.
function Denied([string[]]$Words, [string[]]$Options = @()) {
    $control = Outside $Words
    Expect ($control -eq 'allowed') "the control outside: $control"
    $got = Inside $Options $Words
    Expect ($null -ne $got) 'no result'
    Expect ($got.stdout -like 'denied*') "inside: $($got.reason) $($got.stdout) $($got.error.message)"
}

function Allowed([string[]]$Words, [string[]]$Options = @()) {
    $got = Inside $Options $Words
    Expect ($null -ne $got) 'no result'
    Expect ($got.stdout.Trim() -eq 'allowed') "inside: $($got.reason) $($got.stdout) $($got.error.message)"
}

Write-Output "# $([Environment]::OSVersion.VersionString), $env:PROCESSOR_ARCHITECTURE, PowerShell $($PSVersionTable.PSVersion)"
$elevated = ([Security.Principal.WindowsPrincipal][Security.Principal.WindowsIdentity]::GetCurrent()).IsInRole(
    [Security.Principal.WindowsBuiltInRole]::Administrator)
Write-Output "# elevated: $elevated"
& $corral status | ForEach-Object { Write-Output "# $_" }

try {
    $secret = Join-Path $outside 'secret.txt'
    $note = Join-Path $shown 'note.txt'
    Set-Content $secret 'secret'
    Set-Content $note 'note'
    $before = (Get-Acl $work).Sddl

    Row 'the level is standard, and the result says which mechanisms' {
        $got = Inside @() @('exit', '3')
        Expect ($got.exit_code -eq 3) "exit code $($got.exit_code) $($got.error.message)"
        Expect ($got.level -eq 'standard' -and $got.engine -eq 'appcontainer') "$($got.level) $($got.engine)"
        $net = $got.guarantees | Where-Object { $_.name -eq 'net' }
        Expect ($net.state -eq 'weaker' -and $net.by -contains 'appcontainer') $net.why # enforced, once this script has passed somewhere
    }
    Row 'a file outside cannot be read' { Denied @('read', $secret) }
    Row 'the home cannot be listed' { Denied @('read', $env:USERPROFILE) }
    Row 'a file outside cannot be written' {
        Denied @('write', (Join-Path $outside 'new.txt'))
        Remove-Item (Join-Path $outside 'new.txt')
        $null = Inside @() @('write', (Join-Path $outside 'new.txt'))
        Expect (-not (Test-Path (Join-Path $outside 'new.txt'))) 'the file exists'
    }
    Row 'the workspace can be written' {
        Allowed @('write', (Join-Path $work 'made.txt'))
        Expect ((Get-Content (Join-Path $work 'made.txt')) -eq 'changed') 'the content differs'
        Allowed @('rename', (Join-Path $work 'made.txt'), (Join-Path $work 'renamed.txt'))
    }
    Row 'a read-only workspace cannot be written' {
        Denied @('write', (Join-Path $work 'renamed.txt')) @('--mode', 'read-only')
        Allowed @('read', (Join-Path $work 'renamed.txt')) @('--mode', 'read-only')
    }
    Row 'a granted path can be read and not written' {
        Denied @('read', $note)
        Allowed @('read', $note) @('--read', $shown)
        Denied @('write', $note) @('--read', $shown)
    }
    Row 'the workspace itself cannot be renamed, nor its DACL changed' {
        $got = Inside @() @('rename', $work, ($work + '2'))
        Expect ($got.stdout -like 'denied*') $got.stdout
        Denied @('dacl', $work)
        Denied @('dacl', (Join-Path $work 'renamed.txt'))
    }
    Row 'there is no network, and with --net full there is one' {
        $listener = New-Object Net.Sockets.TcpListener ([Net.IPAddress]::Loopback, 0)
        $listener.Start()
        $port = [string]$listener.LocalEndpoint.Port
        try { Denied @('connect', '127.0.0.1', $port) } finally { $listener.Stop() }
        Write-Output '#   the twin needs a host outside: child.exe connect ADDRESS PORT with --net full'
    }
    Row 'another process cannot be opened' { Denied @('open-process', [string]$PID) }
    Row 'the clipboard cannot be emptied' { Denied @('clipboard') }
    Row 'a process cannot leave the job' {
        $got = Inside @() @('breakaway')
        Expect ($got.stdout -like 'denied*') $got.stdout
    }
    Row 'memory is limited' {
        Denied @('memory', '256') @('--memory', '64M')
        Allowed @('memory', '16') @('--memory', '64M')
    }
    Row 'processes are limited' {
        Expect ((Inside @('--processes', '1') @('spawn')).stdout.Trim() -eq 'refused') 'spawned'
        Expect ((Inside @('--processes', '4') @('spawn')).stdout.Trim() -eq 'spawned') 'refused'
    }
    Row 'a time-out ends the command and its children' {
        $beat = Join-Path $work 'beat.txt'
        $got = Inside @('--timeout', '3s') @('orphan', $beat, 'wait')
        Expect ($got.reason -eq 'timeout') $got.reason
        $one = Get-Content $beat; Start-Sleep -Milliseconds 500; $two = Get-Content $beat
        Expect ($one -eq $two) 'a child lives'
    }
    Row 'arguments arrive unchanged' {
        $got = Inside @() @('args', 'a b', 'c\', '%PATH%', '^&')
        $want = ('a b', 'c\', '%PATH%', '^&' | ForEach-Object {
            ([Text.Encoding]::BigEndianUnicode.GetBytes($_) | ForEach-Object { $_.ToString('x2') }) -join '' }) -join "`n"
        Expect ($got.stdout.TrimEnd("`n") -eq $want) $got.stdout
    }
    Row 'after the runs the DACL is as it was, and nothing is left' {
        Expect ((Get-Acl $work).Sddl -eq $before) "before: $before after: $((Get-Acl $work).Sddl)"
        Expect (@(Get-ChildItem (Join-Path $state 'journal')).Count -eq 0) 'a journal is left'
        Expect (@(Get-ChildItem (Join-Path $state 'runs')).Count -eq 0) 'a private directory is left'
        Expect (((Get-Acl (Join-Path $work 'renamed.txt')).Sddl) -notlike '*S-1-15-2-*') 'an entry of a run is left'
    }
    Row 'a killed corral.exe takes the command with it, and cleanup restores the DACL' {
        $beat = Join-Path $work 'killed.txt'
        $run = Start-Process $corral -ArgumentList @('run', '--workspace', $work, '--', $child, 'orphan', $beat, 'wait') `
            -PassThru -WindowStyle Hidden
        for ($i = 0; $i -lt 600 -and -not (Test-Path $beat); $i++) { Start-Sleep -Milliseconds 100 }
        Expect ((Get-Acl $work).Sddl -ne $before) 'there was no grant'
        Stop-Process -Id $run.Id -Force
        Start-Sleep -Seconds 1
        $one = Get-Content $beat; Start-Sleep -Milliseconds 500; $two = Get-Content $beat
        Expect ($one -eq $two) 'the command lives'
        & $corral cleanup | Out-Null
        Expect ($LASTEXITCODE -eq 0) "cleanup: $LASTEXITCODE"
        Expect ((Get-Acl $work).Sddl -eq $before) "before: $before after: $((Get-Acl $work).Sddl)"
    }
} finally {
    Set-Location $env:USERPROFILE
    & $corral cleanup | Out-Null
    Remove-Item -Recurse -Force $place -ErrorAction SilentlyContinue
}
Write-Output "1..$script:number"
Write-Output "# $script:failed failed"
if ($script:failed -gt 0) { exit 1 }
