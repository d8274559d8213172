import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../src/errors.ts'

const PROGRAM = fileURLToPath(new URL('../src/bin.ts', import.meta.url))

/** A slow process runs for a moment between pauses of this length. */
const PAUSE_MS = 1500
const RUN_MS = 200

/** A Registry that is a process of its own, which can be killed, started again with its listings, and slowed. */
export class RegistryProcess {
  readonly #environment: Readonly<Record<string, string>>
  readonly #folder: string
  #child: ChildProcess | null = null
  #url = ''
  #slowness: NodeJS.Timeout | null = null

  /** @param environment all of its settings; `PORT` 0 takes a free one */
  constructor(environment: Readonly<Record<string, string>>, folder: string) {
    this.#environment = environment
    this.#folder = folder
  }

  get url(): string {
    return this.#url
  }

  get isRunning(): boolean {
    return this.#child !== null
  }

  get isSlow(): boolean {
    return this.#slowness !== null
  }

  /** Resolves when it listens, again at the same port. @throws ConfigError with its output where it ends before */
  async start(): Promise<void> {
    const { port } = URL.parse(this.#url) ?? {}
    const child = spawn(process.execPath, [PROGRAM, 'serve'], {
      cwd: this.#folder,
      env: { ...this.#environment, LOG_LEVEL: 'info', ...(port && { PORT: port }) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    this.#child = child
    const lines = createInterface(child.stderr)
    const output: string[] = []
    for await (const line of lines) {
      output.push(line)
      const url = line.includes('"listening"') && JSON.parse(line).url
      if (!url) continue
      this.#url = url
      child.stderr.resume()
      return
    }
    this.#child = null
    const problem = output.findLast((line) => line.startsWith('entrepot: PORT: ')) ?? output.join('\n')
    throw new ConfigError([{ path: 'PORT', message: problem.replace('entrepot: PORT: ', '') }])
  }

  /** Kills it, as a crash does. */
  async stop(): Promise<void> {
    const child = this.#child
    this.#child = null
    this.quicken()
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  slow(): void {
    this.#slowness = setInterval(() => {
      this.#child?.kill('SIGSTOP')
      setTimeout(() => this.#child?.kill('SIGCONT'), PAUSE_MS).unref()
    }, PAUSE_MS + RUN_MS)
  }

  quicken(): void {
    if (this.#slowness !== null) clearInterval(this.#slowness)
    this.#slowness = null
    this.#child?.kill('SIGCONT')
  }
}
