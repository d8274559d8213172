import test, { type ExecutionContext } from 'ava'
import { readFilterSpec } from '../../../src/filter-spec/load.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type FakeRegistry, listingText } from '../../helpers/fake-registry.ts'
import { startFake, startPatientGateway } from '../../helpers/gateway.ts'
import { ADMIN, type Reply, type RunningService, send } from '../../helpers/registry.ts'
import { ALICE, publish } from '../../helpers/seller.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'

/** Part of every name, id, offer, filter and schema that only a private source has. No sealed cursor has it by chance. */
const MARK = 'hushhushhush'
const GPU_MODEL = readFilterSpec('config/filter-spec.yaml').filters.get('gpu_model')!
const isPrivate = (name: string): boolean => name.includes(MARK)

/** Registries, the best first, that share some listings and differ about others. */
const MARKET: Readonly<
  Record<string, readonly (readonly [id: string, second: number, seller?: number, model?: string])[]>
> = {
  [`${MARK}-a`]: [
    ['both-1', 58],
    [`${MARK}-1`, 40],
    ['both-2', 31],
    ['clash', 22, 2],
    [`${MARK}-2`, 13, 0, MARK],
  ],
  'pub-a': [
    ['pub-a-1', 59],
    ['both-1', 45],
    ['both-2', 44],
    ['clash', 30],
    ['pub-a-2', 20, 0, 'A100'],
    ['shared', 10],
  ],
  'pub-b': [
    ['both-1', 57],
    ['shared', 50],
    ['pub-b-1', 33],
    ['pub-b-2', 15, 1],
  ],
  [`${MARK}-b`]: [
    ['shared', 55],
    ['pub-b-1', 33, 0, 'A100'],
    [`${MARK}-3`, 32],
    ['local-1', 12],
  ],
}

type Registry = { name: string; url: string; fake: FakeRegistry }

function openMarket(t: ExecutionContext): Promise<Registry[]> {
  const registries = Object.entries(MARKET).map(async ([name, listings]): Promise<Registry> => {
    // A private one has every seller at another storefront, so it disputes the public ones.
    const shop = (seller: number): string => `http://${isPrivate(name) ? `${MARK}-` : ''}${seller}.example/`
    const items = listings.map(([listing_id, second, seller = 0, gpu_model = 'H100']) =>
      listingText({
        listing_id,
        publisher_id: seller,
        created_at: `2026-11-20T10:00:${second}`,
        storefront_url: shop(seller),
        offer_resource: { gpu_model, ...(isPrivate(name) && { note: MARK }) },
      }),
    )
    const publishers = [0, 1, 2].map(
      (seller) => [seller, `0x${String(seller + 1).repeat(40)}`, shop(seller)] as const,
    )
    const filters = [GPU_MODEL, ...(isPrivate(name) ? [filterOf(`${MARK}_filter`)] : [])]
    const filterSpec = specBody(`etag-${name}`, filters, isPrivate(name) ? `${MARK}.schema` : 'vms.compute')
    const fake = await startFake(t, { items, publishers, filterSpec })
    return { name, url: fake.url, fake }
  })
  return Promise.all(registries)
}

const NDJSON = { Accept: 'application/x-ndjson' }
const ID_PATHS = ['pub-a-1', 'both-1', 'clash', 'shared', `${MARK}-1`, 'local-1', 'unknown'].map(
  (id) => `/listings/${id}`,
)
/** `CURSOR` stands for the latest cursor of the reader, `STOLEN` for one of a reader who sees more. */
const QUESTIONS: readonly (readonly [path: string, headers?: Record<string, string>])[] = [
  ...['/listings?limit=3', '/listings/both-1', '/listings/unknown'].flatMap((path) =>
    [
      {},
      NDJSON,
      { 'Cache-Control': 'no-cache' },
      { 'Cache-Control': 'only-if-cached' },
      { 'CDN-Loop': 'entrepot' },
      { 'CDN-Loop': 'a, b, c, d' },
      { 'If-None-Match': '*' },
    ].map((headers) => [path, headers] as const),
  ),
  ...[
    '/listings?limit=4&cursor=CURSOR',
    '/listings?limit=4&cursor=STOLEN',
    '/listings?limit=2&offset=2',
    '/listings?limit=200&offset=1900',
    '/listings?gpu_model=H100',
    '/listings?gpu_model=A100',
    '/listings?gpu_model=none',
    '/listings?sort=price',
    '/listings?require=all',
    '/listings?sources=local,pub-b',
    `/listings?sources=${MARK}-a`,
    `/listings?sources=pub-a,${MARK}-b`,
    '/listings?sources=unknown',
    '/listings?status=closed',
    '/listings?status=',
    `/listings?${MARK}_filter=x`,
    '/listings?region=x',
    ...ID_PATHS,
    `/listings/shared?registry=${MARK}-b`,
    '/listings/shared?registry=pub-a',
    '/listings/shared?registry=unknown',
    '/facets?by=gpu_model,registry',
    '/filter-spec',
    '/sources',
    '/ready',
    '/changes',
    '/vocabulary',
    '/publishers',
    '/openapi.json',
  ].map((path) => [path] as const),
]

/** A refusal may repeat the caller's own values. */
const ECHOES = new RegExp(
  `There is no source \\\\"${MARK}-[ab]\\\\"|unknown filter: '${MARK}_filter'|"path":"${MARK}_filter"`,
  'g',
)
const CHANCE = ['age', 'changes-position', 'content-length', 'date', 'etag', 'server-timing', 'x-request-id']

/** Without times and sealed texts, which differ in any two answers. */
const settled = ({ status, headers, text }: Reply): string =>
  [status, ...[...headers].filter(([name]) => !CHANCE.includes(name)), text]
    .join('\n')
    .replaceAll(/((?:elapsed_ms|age_seconds)":|max-age=|ttl=-?|oldest reading is )\d+/g, '$1')
    .replaceAll(/"(next_cursor|position|etag)":"[^"]+"/g, '"$1":"…"')
    .replaceAll(/2\d{3}-\d\d-\d\dT[\d:.]+/g, 'TIME')

/** A gateway over these Registries that has read them, and has a listing of its own. */
async function start(t: ExecutionContext, market: readonly Registry[]): Promise<RunningService> {
  const upstreams = market.map(({ name, url }) => {
    const visibility = isPrivate(name) ? 'private' : 'public'
    return { name, url, settings: `refresh_seconds = 3600\nvisibility = "${visibility}"` }
  })
  const service = await startPatientGateway(t, upstreams, {
    environment: { REGISTRY_ADMIN_API_KEY: 'admin' },
  })
  await publish(service.url, ALICE, { listing_id: 'local-1', storefront_url: 'http://0.example/' })
  return service
}

/** The source answers with that status from now on, and each gateway that has it knows. */
async function fail(source: Registry, status: number, gateways: readonly RunningService[]): Promise<void> {
  source.fake.script = [{ kind: 'status', status }]
  source.fake.listingScript = { kind: 'status', status }
  for (const { url, get } of gateways) {
    await send(`${url}/admin/sources/${source.name}/refresh`, { method: 'POST', headers: ADMIN })
    await eventually('its failure', async () => {
      const { sources } = (await get('/admin/sources', ADMIN)).json() as { sources: SourceJson[] }
      return sources.find(({ registry }) => registry === source.name)?.last_error
    })
  }
}

type SourceJson = { registry: string; last_error: object | null }

const ask = async (
  { get }: RunningService,
  path: string,
  headers = {},
  cursors: Record<string, string> = {},
) => {
  const answer = await get(
    path.replace(/CURSOR|STOLEN/, (which) => cursors[which] ?? ''),
    headers,
  )
  return { answer, cursor: /"next_cursor":"([^"]+)"/.exec(answer.text)?.[1] ?? '' }
}

/** A reader without a key must not be able to distinguish a gateway that has private sources from one that does not. */
for (const [failing, status] of [
  [null, 200],
  [`${MARK}-a`, 500],
  ['pub-a', 500],
  ['pub-a', 401],
  ['pub-b', 500],
] as const)
  test(`visibility: no private byte is leaked, whatever readers with a key ask meanwhile, while ${failing ?? 'no source'} fails with ${status}`, async (t) => {
    const market = await openMarket(t)
    const open = market.filter(({ name }) => !isPrivate(name))
    const [full, bare] = [await start(t, market), await start(t, open)]
    const source = market.find(({ name }) => name === failing)
    if (source !== undefined) await fail(source, status, isPrivate(source.name) ? [full] : [full, bare])
    const first = '/listings?limit=3'
    const { cursor: STOLEN } = await ask(full, first, ADMIN)
    const [{ cursor: ours }, { cursor: theirs }] = [await ask(full, first), await ask(bare, first)]
    let leakable = 0
    for (const [path, headers] of QUESTIONS) {
      const { answer } = await ask(full, path, { ...headers, ...ADMIN }, { CURSOR: STOLEN })
      if (answer.text.includes(MARK)) leakable++
      const { answer: seen } = await ask(full, path, headers, { CURSOR: ours, STOLEN })
      const { answer: plain } = await ask(bare, path, headers, { CURSOR: theirs, STOLEN })
      t.false(settled(seen).replaceAll(ECHOES, '').includes(MARK), path)
      t.is(settled(seen), settled(plain), `${path} ${JSON.stringify(headers)}`)
    }
    t.true(leakable > QUESTIONS.length / 4, 'there was something to leak')
  })
