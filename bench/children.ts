import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A server in its own process, apart from its load. */
export type Child = { url: string; pid: number; close: () => Promise<void> }

/** Plain `node:http` that serves the bytes of a file, the base of the ratios. */
export const startPlainServer = (file: string): Promise<Child> =>
  startChild([fileURLToPath(new URL('./plain-server.ts', import.meta.url)), file])

/** `entrepot serve` on a free port. */
export const startEntrepot = (environment: Record<string, string>): Promise<Child> =>
  startChild([fileURLToPath(new URL('../src/bin.ts', import.meta.url)), 'serve'], {
    PORT: '0',
    LOG_LEVEL: 'info',
    ...environment,
  })

export type ServedCounts = Record<'requests' | 'pages' | 'received' | 'sent' | 'listingBytes', number>

/** What `scripted-registries.ts` has served since its start. */
export async function servedCounts({ url }: Pick<Child, 'url'>): Promise<ServedCounts> {
  return (await (await fetch(`${url}/counts`)).json()) as ServedCounts
}

/** A script of this project that prints its URL on stderr when it listens, and ends on SIGTERM. */
export async function startChild(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<Child> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const url = await new Promise<string>((resolve, reject) => {
    const lines = createInterface({ input: child.stderr })
    lines.on('line', (line) => {
      const found = /http:\/\/[\d.]+:\d+/.exec(line)
      if (found !== null) resolve(found[0])
    })
    void ended.then(() => reject(new Error(`${args.join(' ')} ended before it listened`)))
  })
  const close = (): Promise<void> => {
    child.kill('SIGTERM')
    return ended
  }
  return { url, pid: child.pid!, close }
}
