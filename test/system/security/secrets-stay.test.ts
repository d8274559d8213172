import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'ava'
import { Redis } from 'ioredis'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { startFake } from '../../helpers/gateway.ts'
import { ownRedis } from '../../helpers/redis.ts'
import { send } from '../../helpers/registry.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { publishBody } from '../../helpers/seller.ts'
import { failToStartInManyWays, reloadBadFiles } from './bad-settings.ts'
import { startEchoes } from './echoing-upstreams.ts'
import { runCommands } from './every-command.ts'
import {
  bearer,
  callTools,
  readEverything,
  type SendRequest,
  type Wallet,
  writeEverything,
} from './every-request.ts'
import { LeakSearch } from './leak-search.ts'
import { startCaptured } from './process-output.ts'

const random = (): string => generatePrivateKey().slice(2)

test('secrets: the search finds every form of a secret', (t) => {
  const leaks = new LeakSearch()
  const key = leaks.addSecret('the key', 'p@ss/word with ünïcode')
  for (const form of [key, encodeURIComponent(key), btoa(unescape(encodeURIComponent(key))), `x ${key} y`])
    leaks.addText(`"${form.length}"`, `before ${form} after`)
  leaks.addText('silence', 'p@ss')
  t.is(leaks.found().length, 4)
  t.regex(leaks.found()[0]!, /^the key in "22": …before \[HERE\]$/)
})

test('secrets: a full run reveals none except in the minting response', async (t) => {
  t.timeout(600_000)
  const leaks = new LeakSearch()
  const folder = temporaryFolder(t)
  const admin = leaks.addSecret('admin key', random())
  const bootstrap = leaks.addSecret('bootstrap key', random())
  const password = leaks.addSecret('Redis password', `p%@:${random()}`)
  const upstreamKey = leaks.addSecret('upstream key', random())
  const echoedKey = leaks.addSecret('echoed key', random())
  const wrongKey = leaks.addSecret('wrong key', random())
  const collectorKey = leaks.addSecret('collector key', random())
  const privateKey = generatePrivateKey()
  leaks.addSecret('private key', privateKey.slice(2))
  const seller = privateKeyToAccount(privateKey)

  const redis = await ownRedis(t, { requirepass: password })
  const storeUrl = `redis://:${encodeURIComponent(password)}@${new URL(redis.url).host}`
  const fake = await startFake(t, { items: listingTexts('good', 3) })
  const echoes = await startEchoes(t)
  const upstreams = [
    ['good', fake.url, 'GOOD_KEY'] as const,
    ...[...echoes].map(([name, url]) => [name, url, 'ECHO_KEY'] as const),
  ]
  const toml = join(folder, 'gateway.toml')
  const goodToml = [
    '[cache]\nfresh_seconds = 0\n[limits]\npublish_per_minute = 0',
    ...upstreams.map(
      ([name, url, key], n) =>
        `[[upstreams]]\nname = "${name}"\nurl = "${url}"\nallow_private_addresses = true\napi_key_env = "${key}"\n` +
        `${name === 'bad-gateway' ? 'kind = "gateway"\n' : ''}${n % 2 === 0 ? 'visibility = "private"\n' : ''}`,
    ),
  ].join('\n')
  writeFileSync(toml, goodToml)
  const environment = {
    STORE_URL: storeUrl,
    ENTREPOT_CONFIG: toml,
    REGISTRY_ADMIN_API_KEY: admin,
    REGISTRY_BOOTSTRAP_API_KEY: bootstrap,
    REGISTRY_REQUIRE_WRITE_API_KEY: 'true',
    GOOD_KEY: upstreamKey,
    ECHO_KEY: echoedKey,
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9',
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${collectorKey}`,
  }
  const gateway = await startCaptured(t, environment)
  const { url } = gateway

  /** Resolves with the text of the whole response. */
  const ask = async (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: unknown,
  ): Promise<string> => {
    const answer = await send(`${url}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = `${JSON.stringify([...answer.headers])} ${answer.text}`
    if (!(method === 'POST' && path === '/admin/api-keys' && answer.status === 201))
      leaks.addText(`${method} ${path} → ${answer.status}`, text)
    return answer.text
  }
  const mint = async (name: string, scope: string): Promise<string> =>
    leaks.addSecret(
      `minted ${name}`,
      JSON.parse(await ask('POST', '/admin/api-keys', bearer(admin), { name, scope })).key,
    )
  const readKey = await mint('reader', 'read')
  const writeKey = await mint('writer', 'write')

  await readEverything(ask, [readKey, writeKey, bootstrap, admin, wrongKey])
  await writeEverything(ask, seller, [writeKey, wrongKey, readKey])
  await callTools(ask, [readKey, wrongKey])
  for (const [name] of upstreams) await ask('POST', `/admin/sources/${name}/refresh`, bearer(admin))
  await readEverything(ask, [readKey, admin])
  await loseRedis(ask, new Redis(storeUrl), { seller, writeKey, password })
  await reloadBadFiles(gateway, toml, { goodToml, secret: upstreamKey })
  await runCommands(t, { url, folder, leaks, admin, readKey, writeKey, wrongKey, privateKey })
  await failToStartInManyWays(t, folder, { environment, leaks, password, admin })

  t.is(await gateway.end(), 0)
  leaks.addText('the log', gateway.output())
  t.regex(gateway.output(), /"msg":"request"/)
  leaks.addText('what Redis has on its disk', await appendOnlyFile(storeUrl))
  t.log(leaks.size)
  t.deepEqual(leaks.found(), [])
})

/** Redis's log on disk: keys are in it as hashes, and the password is not. */
async function appendOnlyFile(storeUrl: string): Promise<string> {
  const redis = new Redis(storeUrl)
  const [, folder] = (await redis.config('GET', 'dir')) as string[]
  redis.disconnect()
  const files = join(folder!, 'appendonlydir')
  return readdirSync(files)
    .map((name) => readFileSync(join(files, name), 'latin1'))
    .join('\n')
}

/** Redis refuses the gateway's password for a while, which the gateway logs. */
async function loseRedis(
  ask: SendRequest,
  redis: Redis,
  { seller, writeKey, password }: { seller: Wallet; writeKey: string; password: string },
): Promise<void> {
  await redis.config('SET', 'requirepass', random())
  await redis.call('CLIENT', 'KILL', 'TYPE', 'NORMAL', 'SKIPME', 'YES')
  const health = () => ask('GET', '/health')
  await eventually('degraded', health, (text) => text.includes('degraded'))
  await ask('POST', '/listings', bearer(writeKey), await publishBody(seller, { listing_id: 'late' }))
  await ask('GET', '/listings')
  await redis.config('SET', 'requirepass', password)
  await eventually('healthy', health, (text) => text.includes('"ok"}}'))
  redis.disconnect()
}
