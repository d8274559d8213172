import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ExecutionContext } from 'ava'
import { runProcess } from '../../helpers/run-cli.ts'
import type { LeakSearch } from './leak-search.ts'
import { type CapturedProcess, inPairs } from './process-output.ts'

/** Files with a key in a wrong place: the error names the problem and not the key. */
const badFiles = (secret: string): string[] => [
  `[[upstreams]]\nname = "x"\nurl = "https://registry.example"\napi_key = "${secret}"\n`,
  `[[upstreams]]\nname = "x"\nurl = "https://user:${secret}@registry.example"\n`,
  `[[upstreams]]\nname = "x"\nurl = "https://registry.example?key=${secret}"\n`,
  `[[upstreams]]\nname = "x"\nurl = "${secret}"\n`,
  `[[upstreams]]\nname = "x\napi_key = "${secret}"\n`,
  `api_key = ${secret}\n`,
  `[gateway]\nid = "Bearer ${secret}"\n`,
]

export async function reloadBadFiles(
  gateway: CapturedProcess,
  toml: string,
  { goodToml, secret }: { goodToml: string; secret: string },
): Promise<void> {
  for (const text of [...badFiles(secret), goodToml]) {
    writeFileSync(toml, text)
    const reloaded = gateway.waitForOutput(/"level":\d+.*reload/i)
    gateway.signal('SIGHUP')
    await reloaded
  }
}

type Starting = { environment: Record<string, string>; leaks: LeakSearch; password: string; admin: string }

export async function failToStartInManyWays(
  t: ExecutionContext,
  folder: string,
  { environment, leaks, password, admin }: Starting,
): Promise<void> {
  // All bad files are read in the reload.
  const broken = badFiles(admin)
    .slice(0, 2)
    .map((text, n) => {
      const file = join(folder, `broken-${n}.toml`)
      writeFileSync(file, text)
      return { ENTREPOT_CONFIG: file }
    })
  const { host } = new URL(environment.STORE_URL!)
  const changes: Record<string, string>[] = [
    ...broken,
    { STORE_URL: `redis://:${encodeURIComponent(password.slice(0, -1))}@${host}` },
    { STORE_URL: `redis://:${encodeURIComponent(password)}@127.0.0.1:9` },
    { STORE_URL: `postgres://:${encodeURIComponent(password)}@127.0.0.1` },
    { STORE_URL: `redis://:${encodeURIComponent(password)}@:1:2` },
    { GOOD_KEY: `${admin}\n${admin}` },
    { REGISTRY_ADMIN_API_KEY_FILE: join(folder, 'key') },
    { OTEL_EXPORTER_OTLP_ENDPOINT: `http://user:${admin}@127.0.0.1` },
    { METRICS_PUBLIC: 'perhaps', PORT: 'x' },
  ]
  await inPairs(changes, async (change) => {
    const env = { PORT: '0', LOG_LEVEL: 'trace', ...environment, ...change }
    const { code, stdout, stderr } = await runProcess(['serve'], { env })
    t.not(code, 0, Object.keys(change).join())
    leaks.addText(`a start with ${Object.keys(change)}`, `${stdout}\n${stderr}`)
  })
}
