import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { programPath } from './programs.ts'

const run = promisify(execFile)

/** Limits the size of files that a process writes, like a full disk; `null` lifts the limit. */
export const limitFileSize = (pid: number, bytes: number | null): Promise<void> =>
  limit(pid, `--fsize=${bytes ?? 'unlimited'}:`)

/** Limits a process to descriptors below this number. */
export const limitOpenFiles = (pid: number, below: number): Promise<void> => limit(pid, `--nofile=${below}:`)

async function limit(pid: number, option: string): Promise<void> {
  await run(programPath('prlimit'), ['--pid', String(pid), option])
}
