// get URL: net/http, once and then forty times at once.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"sync"
)

func get(url string) string {
	answer, err := http.Get(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return string(body)
}

func main() {
	fmt.Print(get(os.Args[1]))
	found := make([]string, 40)
	var all sync.WaitGroup
	for n := range found {
		all.Add(1)
		go func(n int) {
			defer all.Done()
			found[n] = get(fmt.Sprintf("%s/%d", os.Args[1], n))
		}(n)
	}
	all.Wait()
	sort.Strings(found)
	for _, text := range found {
		fmt.Print(text)
	}
}
