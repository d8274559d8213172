import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import test, { type ExecutionContext } from 'ava'
import { eventually } from '../../helpers/eventually.ts'
import { send } from '../../helpers/registry.ts'
import { CLI, runShell, temporaryFolder } from '../../helpers/run-cli.ts'
import { ALICE, BOB, publish } from '../../helpers/seller.ts'
import { type ServiceProcess, startProcess } from '../../helpers/service-process.ts'
import { filesIn, settingsOf } from './operations-page.ts'

const SECRETS = {
  admin_key: 'admin-'.repeat(8),
  bootstrap_key: 'boot-'.repeat(8),
  curated_key: 'boot-'.repeat(8),
}
const OFFER = { gpu_model: 'H200', region: 'Paris, FR' }

type Source = { registry: string; state: string }
type Answer = {
  items: { listing_id: string; _meta: { registry: string } }[]
  complete: boolean
  sources: Source[]
}

/** Writes the page's files with real addresses, and starts one of its processes. */
async function startShape(
  t: ExecutionContext,
  name: string,
  addresses: Readonly<Record<string, string>> = {},
): Promise<ServiceProcess & { settings: Record<string, string>; folder: string }> {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'secrets'))
  symlinkSync(resolve('config'), join(folder, 'config'))
  for (const [file, secret] of Object.entries(SECRETS))
    writeFileSync(join(folder, 'secrets', file), `${secret}\n`)
  for (const [file, text] of filesIn()) {
    const here = text.replaceAll(/^url = "(https:.+)"$/gm, (_line, url: string) => {
      return `url = "${addresses[url] ?? url}"\nallow_private_addresses = true`
    })
    writeFileSync(join(folder, file), here)
  }
  const settings = settingsOf(`${name}.env`)
  const service = await startProcess(settings.STORE_URL!, settings, folder)
  t.teardown(() => service.end('SIGKILL'))
  return { ...service, settings, folder }
}

async function read(url: string, key?: string): Promise<{ status: number; answer: Answer }> {
  const { status, json } = await send(`${url}/listings`, key ? { headers: bearer(key) } : {})
  return { status, answer: json() as Answer }
}

const bearer = (key: string): Record<string, string> => ({ Authorization: `Bearer ${key}` })

const whereFrom = ({ items }: Answer): string[] =>
  items.map(({ listing_id: id, _meta }) => `${id} ${_meta.registry}`).sort()

test('docs/operations.md: its deployment shapes run and form a market', async (t) => {
  const [openMarket, curated, alice] = await Promise.all([
    startShape(t, 'public'),
    startShape(t, 'curated'),
    startShape(t, 'co-located'),
  ])
  const { admin_key: admin, bootstrap_key: bootstrap } = SECRETS

  // Public: sellers get keys by the page's command.
  t.is((await publish(openMarket.url, BOB, { listing_id: 'bob-1', offer_resource: OFFER })).status, 401)
  const { hostname, port } = new URL(openMarket.url)
  const minted = await runShell(`${CLI} keys mint bob --scope write`, {
    env: { HOST: hostname, PORT: port, REGISTRY_ADMIN_API_KEY: admin },
  })
  t.is(minted.code, 0, minted.stderr)
  const key = minted.stdout.trim()
  const listing = { listing_id: 'bob-1', offer_resource: OFFER }
  t.is((await publish(openMarket.url, BOB, listing, { headers: bearer(key) })).status, 201)
  t.is((await read(openMarket.url)).status, 200)

  // Curated: nothing without a key, and only listings of its shape.
  t.is((await read(curated.url)).status, 401)
  const refused = { listing_id: 'odd', offer_resource: { gpu_model: 'Banana', region: 'Paris, FR' } }
  t.is((await publish(curated.url, ALICE, refused, { headers: bearer(bootstrap) })).status, 422)
  const escrow = { chain_name: 'c', escrow_address: '0x0', literal_fields: {}, rates: [] }
  const good = {
    listing_id: 'fine-1',
    storefront_url: 'https://alice.example/',
    offer_resource: OFFER,
    accepted_escrows: [escrow],
  }
  const taken = await publish(curated.url, ALICE, good, { headers: bearer(bootstrap) })
  t.is(taken.status, 201, taken.text)

  // Co-located: the storefront publishes with the shared key.
  const own = { listing_id: 'alice-1', offer_resource: OFFER }
  t.is((await publish(alice.url, ALICE, own, { headers: bearer(bootstrap) })).status, 201)

  const addresses = {
    'https://open-market.example': openMarket.url,
    'https://curated.example': curated.url,
    'https://alice.example': alice.url,
  }
  const eu = await startShape(t, 'gateway', addresses)
  await eventually('ready', async () => (await send(`${eu.url}/ready`)).status === 200)
  const stranger = (await read(eu.url)).answer
  t.deepEqual(whereFrom(stranger), ['alice-1 alice', 'bob-1 open-market'])
  t.deepEqual(
    stranger.sources.map(({ registry, state }) => `${registry} ${state}`),
    ['open-market loaded', 'alice loaded'],
  )
  const own_key = await send(`${eu.url}/admin/api-keys`, {
    method: 'POST',
    headers: { ...bearer(admin), 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'reader' }),
  })
  const known = (await read(eu.url, String(own_key.json().key))).answer
  t.deepEqual(whereFrom(known), ['alice-1 alice', 'bob-1 open-market', 'fine-1 curated'])
  t.is((await publish(eu.url, BOB, listing)).status, 404, 'a pure gateway takes no listings')

  const world = await startShape(t, 'world', { ...addresses, 'https://eu.example': eu.url })
  const { answer } = await read(world.url)
  t.true(answer.complete)
  t.deepEqual(whereFrom(answer), ['alice-1 eu/alice', 'bob-1 open-market'])
})
