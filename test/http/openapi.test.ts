import test from 'ava'
import { readApiDocs, renderApiDocs } from '../../scripts/api-docs.ts'
import type { OpenApiDocument } from '../../src/http/docs/openapi.ts'
import { announcedBy } from '../helpers/announced.ts'
import { type RunningService, send, startRegistry } from '../helpers/registry.ts'
import { ALICE, publishBody, sign, unixNow } from '../helpers/seller.ts'

const ADMIN = { Authorization: 'Bearer admin' }

const documentOf = async ({ get }: RunningService): Promise<OpenApiDocument> =>
  JSON.parse((await get('/openapi.json')).text)

test('OpenAPI: docs/api.md is current', async (t) => {
  const isCurrent = readApiDocs() === (await renderApiDocs())
  t.true(isCurrent, 'run `npm run docs` and commit what it writes')
})

test('OpenAPI: document and page need no key while gates are on', async (t) => {
  const service = await startRegistry(t, {
    environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on', REGISTRY_REQUIRE_WRITE_API_KEY: 'on' },
  })
  t.is((await documentOf(service)).openapi, '3.1.1')
  t.is((await service.get('/docs')).status, 200)
})

test('OpenAPI: every reference resolves', async (t) => {
  const document = await documentOf(await startRegistry(t))
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)]
  t.true(references.length > 20)
  for (const [, name] of references) t.truthy(document.components.schemas[name!], name)
  t.false(JSON.stringify(document).includes('$defs'))
})

test('OpenAPI: the filters of the filter spec are parameters of GET /listings', async (t) => {
  const service = await startRegistry(t, {
    environment: { REGISTRY_FILTER_SPEC_PATH: 'config/filter-spec.apicredits.yaml' },
  })
  const { filters } = (await service.get('/filter-spec')).json() as { filters: { name: string }[] }
  const { parameters = [] } = (await documentOf(service)).paths['/listings']!.get!
  t.deepEqual(
    parameters.filter((one) => one.in === 'query').map(({ name }) => name),
    ['status', 'publisher', 'limit', 'offset', ...filters.map(({ name }) => name)],
  )
})

test('docs page: names every route and loads nothing', async (t) => {
  const service = await startRegistry(t)
  const page = await service.get('/docs')
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.regex(page.headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'sha256-[^']+';/)
  t.notRegex(page.text, /<script|https?:|\son\w+=|style="/)
  const { paths } = await documentOf(service)
  for (const [path, operations] of Object.entries(paths)) {
    for (const method of Object.keys(operations))
      t.true(page.text.includes(`${method.toUpperCase()} ${path}`))
  }
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
  const offer = { listing_id: 'one', offer_resource: '{"gpu_model":"H200"}', max_duration_seconds: 1.5 }
  await call('POST', '/listings', { body: await publishBody(ALICE, offer, now) })
  await call('POST', '/listings', { body: { ...(await publishBody(ALICE, offer, now)), status: 'closed' } })
  await call('POST', '/listings', { body: {} })
  await call('POST', '/listings', { body: [] })
  await call('POST', '/listings', { body: { ...offer, identifier: 'me' } })
  for (const path of ['/listings', '/listings?banana=1', '/listings?limit=0'])
    await call('GET', '/listings', { path })
  await call('GET', '/listings', { headers: { 'If-Match': '0' } })
  for (const path of [one, '/listings/nope', '/listings/%zz']) await call('GET', id, { path })
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
  await call('GET', '/filter-spec')
  await call('GET', '/filter-spec', { headers: { 'If-None-Match': '*' } })
  for (const path of ['/live', '/health', '/ready', '/openapi.json', '/docs']) await call('GET', path)
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
  const keys = '/admin/api-keys'
  await call('POST', keys, { body: { name: 'a' }, headers: ADMIN })
  await call('POST', keys, { body: { name: '' }, headers: ADMIN })
  await call('GET', keys, { headers: ADMIN })
  await call('GET', keys)
  for (const key of ['1', '2', 'x'])
    await call('DELETE', `${keys}/{key_id}`, { path: `${keys}/${key}`, headers: ADMIN })
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
