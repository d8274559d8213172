import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Terminal } from '../../src/cli/output/terminal.ts'
import { runCommandLine } from '../../src/command-line.ts'
import type { Interceptor } from '../../src/upstream/http/request.ts'
import type { Teardown } from './registry.ts'

export const BIN = new URL('../../src/bin.ts', import.meta.url).pathname

export type Run = { code: number | null; stdout: string; stderr: string }
type RunOptions = {
  env?: Record<string, string>
  /** Its stdin. */
  input?: string | Uint8Array
}
type InProcessOptions = RunOptions & { interceptors?: readonly Interceptor[] }

/** Runs a command in this process, with the configuration of the test only. */
export async function runCli(
  args: readonly string[],
  { env = {}, input = '', interceptors }: InProcessOptions = {},
): Promise<Run> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  stdin.end(input)
  const terminal = { env: { ...BARE, ...env }, stdin, stdout, stderr } as unknown as Terminal
  const running = runCommandLine(terminal, args, { interceptors }).finally(() => {
    stdout.end()
    stderr.end()
  })
  const [code, out, err] = await Promise.all([running, text(stdout), text(stderr)])
  return { code, stdout: out, stderr: err }
}

/** Runs the executable as a child process. */
export const runProcess = (args: readonly string[], options: RunOptions = {}): Promise<Run> =>
  runNode([BIN, ...args], options)

/** Runs a program of JavaScript or TypeScript likewise. */
export const runNode = (args: readonly string[], options: RunOptions = {}): Promise<Run> =>
  run(process.execPath, args, options)

/** For `env`: waits of the command end at once, and its clock advances by their time. */
export const TIME_LAPSE = { NODE_OPTIONS: `--import=${new URL('time-lapse.ts', import.meta.url).href}` }

/** The executable as a word of a shell command. */
export const CLI = `'${process.execPath}' '${BIN}'`

export const runShell = (command: string, options: RunOptions = {}): Promise<Run> =>
  run('/bin/sh', ['-c', command], options)

/** Runs the executable in a pseudo-terminal; `stdout` is all output of the terminal. */
export function runInTerminal(args: readonly string[], options: TerminalOptions = {}): Promise<Run> {
  const words = args.map((arg) => `'${arg.replaceAll("'", "'\\''")}'`).join(' ')
  const input = options.stdin === undefined ? '' : ` < '${options.stdin}'`
  const command = `stty cols ${options.columns ?? 120}; ${CLI} ${words}${input}`
  return run('script', ['-qec', command, '/dev/null'], options)
}

type TerminalOptions = RunOptions & {
  columns?: number
  /** A file, instead of the terminal. */
  stdin?: string
  /** Typed once the terminal shows `prompt`. */
  type?: { prompt: string; text: string }
}

/** `script` is of util-linux: every Debian has it. */
export const hasTerminal = spawnSync('script', ['--version']).status === 0

const run = (
  command: string,
  args: readonly string[],
  { env = {}, input = '', type }: TerminalOptions,
): Promise<Run> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { ...BARE, ...env },
      stdio: 'pipe',
    })
    const shown = { stdout: '', stderr: '' }
    let isTyped = type === undefined
    child.stdout.on('data', (chunk) => {
      shown.stdout += chunk
      if (type === undefined || isTyped || !shown.stdout.includes(type.prompt)) return
      isTyped = true
      child.stdin.write(type.text)
    })
    child.stderr.on('data', (chunk) => {
      shown.stderr += chunk
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, ...shown }))
    child.stdin.on('error', () => {}) // a child need not read what it is given
    if (type === undefined) child.stdin.end(input)
  })

const BARE = {
  PATH: process.env.PATH,
  HOME: join(tmpdir(), 'entrepot-no-home'),
  TERM: 'xterm',
  LANG: 'C.UTF-8',
}

/** A folder that is deleted after the test. */
export function temporaryFolder(t: Teardown): string {
  const folder = mkdtempSync(join(tmpdir(), 'entrepot-cli-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A file in its own folder; the default mode is that of a secret. */
export function temporaryFile(t: Teardown, name: string, text: string | Uint8Array, mode = 0o600): string {
  const file = join(temporaryFolder(t), name)
  writeFileSync(file, text, { mode })
  return file
}

/** The `STORE_URL` of a new SQLite file, deleted after the test. */
export function temporaryStore(t: Teardown): string {
  return `sqlite:${join(temporaryFolder(t), 'entrepot.db')}`
}
