// SPDX-License-Identifier: Apache-2.0
import { BaseSandbox, type ExecuteResponse, type FileDownloadResponse, type FileUploadResponse } from "deepagents";
import type { Commands } from "./index.d.ts";

/** A backend whose commands and files are in a sandbox. */
export class CorralBackend extends BaseSandbox {
  constructor(commands: Commands, id?: string);
  id: string;
  execute(command: string): Promise<ExecuteResponse>;
  uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]>;
  downloadFiles(paths: string[]): Promise<FileDownloadResponse[]>;
}
