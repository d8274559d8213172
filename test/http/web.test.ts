import { readdirSync } from 'node:fs'
import test from 'ava'
import { stripTypes } from '../../src/http/web/module-graph.ts'
import { startProcess } from '../e2e/service-process.ts'
import { startGateway } from '../helpers/gateway.ts'
import { limitOpenFiles } from '../helpers/process-limits.ts'
import { send, startRegistry } from '../helpers/registry.ts'

const HTML = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

test('pages: a browser gets the board at /, other clients 404', async (t) => {
  const service = await startRegistry(t)
  const page = await service.get('/', HTML)
  t.is(page.status, 200)
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8')
  for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.9', 'text/html;q=0']) {
    const reply = await service.get('/', { Accept: accept })
    t.is(reply.status, 404, accept)
    t.is(reply.json().detail, 'Not Found')
    t.regex(reply.headers.get('vary') ?? '', /Accept/)
  }
})

test('pages: the board needs no key, since it contains no data', async (t) => {
  const service = await startRegistry(t, { environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on' } })
  t.is((await service.get('/', HTML)).status, 200)
})

test('pages: a trailing slash redirects, so that relative URLs resolve', async (t) => {
  const service = await startRegistry(t)
  const reply = await service.get('/operator/', HTML)
  t.is(reply.status, 308)
  t.is(new URL(reply.headers.get('location') ?? '', `${service.url}/operator/`).pathname, '/operator')
  t.is((await service.get('/operator', HTML)).status, 200)
})

test('pages: may load only files of their own origin', async (t) => {
  const service = await startGateway(t, [{ name: 'far', url: 'http://127.0.0.1:9' }])
  const page = await service.get('/', HTML)
  const policy = page.headers.get('content-security-policy') ?? ''
  t.regex(
    policy,
    /^default-src 'none'; script-src 'self' 'sha256-[\w+/=]+'; style-src 'self'; connect-src 'self';/,
  )
  t.notRegex(policy, /unsafe|https?:|\*/)
  t.notRegex(page.text, /https?:|\/\/|\son\w+=|style="|=["']\//, 'relative addresses only, nothing inline')
})

test('pages: every file of the board is served with its type, and no other file', async (t) => {
  const service = await startRegistry(t)
  const page = await service.get('/', HTML)
  const named = [...page.text.matchAll(/(?:href|src)="(assets[^"]+)"|"\.\/([^"]+)"/g)].map(
    ([, a, b]) => a ?? b ?? '',
  )
  t.true(named.length > 8)
  for (const path of named) {
    const reply = await service.get(`/${path}`)
    t.is(reply.status, 200, path)
    t.is(reply.headers.get('content-type'), TYPES[path.slice(path.lastIndexOf('.'))] ?? '', path)
    if (path.endsWith('.ts')) t.is(stripTypes(reply.text), reply.text, 'no types are left in it')
  }
  for (const path of NOT_SERVED) t.is((await service.get(path)).status, 404, path)
})

const SCRIPT = 'text/javascript; charset=utf-8'
const TYPES: Record<string, string> = {
  '.ts': SCRIPT,
  '.js': SCRIPT,
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const NOT_SERVED = [
  '/assets/',
  '/assets/package.json',
  '/assets/service.ts',
  '/assets/http/app.ts',
  '/assets/web',
  '/assets/../package.json',
  '/assets/web/../service.ts',
  '/assets/web/%2e%2e/service.ts',
  '/assets/%2fetc%2fpasswd',
  '/assets/..%2f..%2fpackage.json',
  '/assets/web/board.ts%00',
  '/assets/%zz',
  '/assets/__proto__',
]

test('pages: 304 for a known file', async (t) => {
  const service = await startRegistry(t)
  for (const [path, headers] of [
    ['/', HTML],
    ['/assets/web/board.ts', {}],
  ] as const) {
    const etag = (await service.get(path, headers)).headers.get('etag') ?? ''
    const again = await service.get(path, { ...headers, 'If-None-Match': etag })
    t.is(again.status, 304, path)
    t.is(again.text, '')
  }
})

test('pages: files are compressed if the client accepts gzip', async (t) => {
  const { url } = await startRegistry(t)
  const sizes = []
  for (const encoding of ['gzip, br', 'identity', 'gzip;q=0']) {
    const headers = { 'Accept-Encoding': encoding }
    const { headers: got, text } = await send(`${url}/assets/libraries/preact.js`, { headers })
    t.true(text.includes('export'), 'the same text either way')
    t.is(got.get('vary'), 'Accept-Encoding')
    sizes.push(Number(got.get('content-length')))
  }
  t.true(sizes[0]! < sizes[1]! / 2)
  t.is(sizes[1], sizes[2])
})

test('pages: a failed load is repeated at the next request', async (t) => {
  const service = await startProcess('sqlite::memory:')
  t.teardown(() => service.end('SIGKILL'))
  const page = () => send(`${service.url}/`, { headers: HTML })
  t.is((await send(`${service.url}/ready`)).status, 200, 'the connection that the next requests use')
  const taken = new Set(readdirSync(`/proc/${service.pid}/fd`).map(Number))
  let free = 0
  while (taken.has(free)) free++
  await limitOpenFiles(service.pid, free)
  t.is((await page()).status, 500)
  await limitOpenFiles(service.pid, 1024)
  t.is((await page()).status, 200)
})
