import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { installedProgram } from './debian.ts'

const run = promisify(execFile)

/** Lets a process write no file beyond this size, as if the disk were full; `null` lifts the limit. */
export const limitFileSize = (pid: number, bytes: number | null): Promise<void> =>
  limit(pid, `--fsize=${bytes ?? 'unlimited'}:`)

/** Lets a process open no descriptor of this number or above. */
export const limitOpenFiles = (pid: number, below: number): Promise<void> => limit(pid, `--nofile=${below}:`)

async function limit(pid: number, option: string): Promise<void> {
  const program = await installedProgram({
    missing: 'No prlimit',
    names: ['prlimit'],
    package: 'util-linux',
    otherwise: 'run this test on Linux',
  })
  await run(program, ['--pid', String(pid), option])
}
