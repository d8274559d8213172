import { readFileSync } from 'node:fs'
import test from 'ava'
import { readApiDocs, renderApiDocs } from '../../../scripts/api-docs.ts'
import { PRICE_PARAMETERS } from '../../../src/domain/price/price-parameters.ts'
import type { OpenApiDocument } from '../../../src/http/docs/openapi.ts'
import { DERIVED_NAMES } from '../../../src/vocabulary/names.ts'
import { announcedBy, fitsBodyOf } from '../../helpers/announced.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { ADMIN, type RunningService, send, startRegistry } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, publishBody, sign, unixNow } from '../../helpers/seller.ts'

const documentOf = async ({ get }: RunningService): Promise<OpenApiDocument> =>
  JSON.parse((await get('/openapi.json')).text)

test('OpenAPI: docs/api.md is current', async (t) => {
  const isCurrent = readApiDocs() === (await renderApiDocs())
  t.true(isCurrent, 'run `npm run docs` and commit what it writes')
})

test('OpenAPI: tools of others read its patterns, counts, links and the headers of POST /mcp', async (t) => {
  const document = await documentOf(await startRegistry(t))
  const text = JSON.stringify(document)
  t.false(/"pattern":"[^"]*\\\\[pP]\{/.test(text), 'patterns need no u flag')
  t.false(text.includes(String(Number.MIN_SAFE_INTEGER)))
  const operations = Object.values(document.paths).flatMap((one) => Object.values(one))
  const links = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap((one) => Object.values(one.links ?? {})),
  )
  t.deepEqual(links.map(({ operationId }) => operationId).sort(), [
    'deleteListingsById',
    'getListingsById',
    'getPublishersByPublisherId',
    'putListingsById',
  ])
  for (const { operationId } of links) t.true(operations.some((one) => one.operationId === operationId))
  const [accept] = document.paths['/mcp']?.post?.parameters ?? []
  t.like(accept, { name: 'Accept', in: 'header', required: undefined })
})

test('OpenAPI: the filters of the filter spec are parameters of GET /listings', async (t) => {
  for (const [file, derived] of [
    ['config/filter-spec.yaml', DERIVED_NAMES],
    ['config/filter-spec.apicredits.yaml', ['rent_hours_min']],
  ] as const) {
    const service = await startRegistry(t, { environment: { REGISTRY_FILTER_SPEC_PATH: file } })
    const { filters } = (await service.get('/filter-spec')).json() as { filters: { name: string }[] }
    const { parameters = [] } = (await documentOf(service)).paths['/listings']!.get!
    t.deepEqual(
      parameters.filter((one) => one.in === 'query').map(({ name }) => name),
      [
        ...['status', 'publisher', 'limit', 'offset', ...PRICE_PARAMETERS, ...derived],
        ...filters.map(({ name }) => name),
      ],
    )
  }
})

test('OpenAPI: a filter `by` is a parameter of GET /listings, not of GET /facets', async (t) => {
  const shipped = readFileSync('config/filter-spec.apicredits.yaml', 'utf8')
  const by = '  - {name: by, path: $.offer_resource.by, op: in, value_type: string, on_missing: fail}\n'
  const spec = temporaryFile(t, 'filter-spec.yaml', `${shipped}${by}`)
  const service = await startRegistry(t, { environment: { REGISTRY_FILTER_SPEC_PATH: spec } })
  const { paths } = await documentOf(service)
  const namesOf = (path: string) => paths[path]!.get!.parameters!.map(({ name }) => name)
  t.true(namesOf('/listings').includes('by'))
  t.is(namesOf('/facets').filter((name) => name === 'by').length, 1)
  t.regex(paths['/facets']!.get!['x-codeSamples'][0].source, /\/facets\?by=gpu'$/)
})

test('OpenAPI: every route has an example, which fits its schemas', async (t) => {
  const fake = await startFake(t)
  const services = [await startRegistry(t), await startGateway(t, [{ name: 'a', url: fake.url }])]
  for (const service of services) {
    const document = await documentOf(service)
    const judge = announcedBy(document)
    const fits = fitsBodyOf(document)
    for (const [path, operations] of Object.entries(document.paths))
      for (const [method, { responses, requestBody }] of Object.entries(operations)) {
        const name = `${method} ${path}: src/http/docs/examples.ts`
        const body = requestBody?.content['application/json']
        if (body !== undefined) t.true(fits(path, method, body.example), name)
        const [status = '', { content = {} } = {}] = Object.entries(responses)[0] ?? []
        const answer = content['application/json']
        if (answer === undefined || path === '/openapi.json') continue
        const text = JSON.stringify(answer.example ?? null)
        const type = 'application/json;'
        t.is(judge(method, path, { status: Number(status), type, text }), null, name)
      }
  }
  const { responses } = (await documentOf(services[1]!)).paths['/listings']!.get!
  t.deepEqual(Object.keys(responses[200]?.content ?? {}), ['application/json', 'application/x-ndjson'])
})

test('OpenAPI: every route answers as announced, in success and in refusal', async (t) => {
  const service = await startRegistry(t, { environment: { REGISTRY_ADMIN_API_KEY: 'admin' } })
  const document = await documentOf(service)
  const judge = announcedBy(document)
  const seen = new Set<string>()
  const call = async (
    method: string,
    template: string,
    {
      path = template,
      body,
      headers = {},
    }: { path?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<number> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const reply = await send(`${service.url}${path}`, {
      method,
      headers: { 'Content-Type': 'application/json', ...headers },
      ...init,
    })
    const { status, text } = reply
    t.is(judge(method, template, { status, text, type: reply.headers.get('content-type') ?? '' }), null)
    seen.add(`${method} ${template} ${status}`)
    return status
  }
  const now = unixNow()
  const [id, one] = ['/listings/{id}', '/listings/one']
  const rates = [{ field: 'amount', value: '1', per: 'hour' }]
  const escrow = { chain_name: 'base', literal_fields: { token: '0x0' }, rates }
  const offer = {
    listing_id: 'one',
    offer_resource: { gpu_model: 'H200' },
    accepted_escrows: [escrow],
    max_duration_seconds: 3600,
  }
  await call('POST', '/listings', { body: await publishBody(ALICE, offer, now) })
  await call('POST', '/listings', { body: { ...(await publishBody(ALICE, offer, now)), status: 'closed' } })
  await call('POST', '/listings', { body: {} })
  await call('POST', '/listings', { body: [] })
  await call('POST', '/listings', { body: { ...offer, identifier: 'me' } })
  for (const path of ['/listings', '/listings?sort=price', '/listings?banana=1', '/listings?limit=0'])
    await call('GET', '/listings', { path })
  await call('GET', '/listings', { headers: { 'If-Match': '0' } })
  for (const path of [one, '/listings/nope']) await call('GET', id, { path })
  const signed = { signature: await sign(ALICE, 'update_listing', 'one', now), timestamp: now }
  await call('PUT', id, { path: one, body: { ...signed, status: 'closed', oracle_address: '0x0' } })
  await call('PUT', id, { path: one, body: { ...signed, status: 'open' } })
  await call('PUT', id, { path: one, body: {} })
  await call('PUT', id, { path: '/listings/nope', body: {} })
  for (const path of ['/publishers', '/publishers?limit=x']) await call('GET', '/publishers', { path })
  for (const publisher of ['1', '2', 'x'])
    await call('GET', '/publishers/{publisher_id}', { path: `/publishers/${publisher}` })
  await call('GET', '/api/v1/system/stats')
  const validate = '/api/v1/listings/validate-publish'
  await call('POST', validate, { body: { listing_id: 'one' } })
  await call('POST', validate, { body: { listing_id: 5 } })
  await call('GET', '/tokens')
  for (const query of ['', '?limit=0', '?since=.', '?since=AAAA'])
    await call('GET', '/changes', { path: `/changes${query}` })
  await call('GET', '/facets', { path: '/facets?by=gpu_model,registry' })
  await call('GET', '/vocabulary')
  await call('GET', '/facets', { headers: { 'If-None-Match': '*' } })
  await call('GET', '/facets', { path: '/facets?by=banana' })
  await call('GET', '/filter-spec')
  await call('GET', '/filter-spec', { headers: { 'If-None-Match': '*' } })
  for (const path of ['/live', '/health', '/ready', '/openapi.json', '/docs']) await call('GET', path)
  await call('GET', '/docs', { path: '/docs/' })
  await call('GET', '/docs', { headers: { 'If-None-Match': '*' } })
  for (const headers of [{}, { Accept: 'text/html' }, { Accept: 'text/html', 'If-None-Match': '*' }])
    for (const path of ['/', '/operator']) await call('GET', path, { headers })
  await call('GET', '/operator', { path: '/operator/', headers: { Accept: 'text/html' } })
  const agent = { Accept: 'application/json, text/event-stream' }
  const message = { jsonrpc: '2.0', method: 'tools/list' }
  await call('POST', '/mcp', { body: { ...message, id: 1 }, headers: agent })
  await call('POST', '/mcp', { body: { ...message, method: 'notifications/initialized' }, headers: agent })
  await call('POST', '/mcp', { body: message })
  await call('POST', '/mcp', { body: [message], headers: agent })
  await call('POST', '/mcp', { body: message, headers: { ...agent, Origin: 'https://page.example' } })
  await call('GET', '/metrics')
  await call('GET', '/metrics', { headers: ADMIN })
  await call('GET', '/admin/replicas', { headers: ADMIN })
  await call('POST', '/admin/reload', { headers: ADMIN })
  await call('GET', '/admin/reload', { headers: ADMIN })
  const blocks = '/admin/blocks'
  const blocked = { subject: `0x${'d'.repeat(40)}`, reason: 'spam' }
  await call('POST', blocks, { body: { ...blocked, until: '2099-12-31' }, headers: ADMIN })
  await call('POST', blocks, { body: { ...blocked, subject: 'no' }, headers: ADMIN })
  await call('GET', blocks, { headers: ADMIN })
  for (const block of ['1', '2', 'x'])
    await call('DELETE', `${blocks}/{block_id}`, { path: `${blocks}/${block}`, headers: ADMIN })
  const keys = '/admin/api-keys'
  await call('POST', keys, { body: { name: 'a' }, headers: ADMIN })
  await call('POST', keys, { body: { name: '' }, headers: ADMIN })
  for (const name of ['a', 'carol', 5])
    await call('POST', `${keys}/rotate`, { body: { name }, headers: ADMIN })
  await call('GET', keys, { headers: ADMIN })
  await call('GET', keys)
  for (const key of ['1', '2', 'x'])
    await call('DELETE', `${keys}/{key_id}`, { path: `${keys}/${key}`, headers: ADMIN })
  await call('GET', '/admin/audit', { headers: ADMIN })
  await call('GET', '/admin/audit', { path: '/admin/audit?since=x', headers: ADMIN })
  const signature = await sign(ALICE, 'delete_listing', 'one', now)
  await call('DELETE', id, { path: one })
  await call('DELETE', id, { path: `${one}?timestamp=x` })
  await call('DELETE', id, { path: `${one}?signature=${signature}&timestamp=${now}` })
  await call('DELETE', id, { path: '/listings/nope' })

  const successes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses }]) =>
      Object.keys(responses)
        .filter((status) => status < '400')
        .map((status) => `${method.toUpperCase()} ${path} ${status}`),
    ),
  )
  t.deepEqual(
    successes.filter((success) => !seen.has(success)),
    [],
    'no announced success is left out here',
  )
})
