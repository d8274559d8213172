import { readdirSync } from 'node:fs'
import test from 'ava'
import { stripTypes } from '../../../src/http/web/module-graph.ts'
import { limitOpenFiles } from '../../helpers/process-limits.ts'
import { send, startRegistry } from '../../helpers/registry.ts'
import { startProcess } from '../../helpers/service-process.ts'

const HTML = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

test('pages: a browser gets the board at /, and other clients are led to the listings of the same query', async (t) => {
  const service = await startRegistry(t)
  const page = await service.get('/', HTML)
  t.is(page.status, 200)
  t.regex(page.text, /<noscript>.*href="listings".*href="facets".*mcp/)
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8')
  for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.9', 'text/html;q=0']) {
    const reply = await service.get('/?gpu=H200&region=Oslo,%20NO', { Accept: accept })
    t.is(reply.status, 303, accept)
    t.is(reply.headers.get('location'), 'listings?gpu=H200&region=Oslo%2C+NO')
    t.regex(String(reply.json().detail), /GET \/listings\?gpu=H200/)
    t.regex(reply.headers.get('vary') ?? '', /Accept/)
  }
})

test('pages: they need no key, and other spellings of their addresses lead to them', async (t) => {
  const service = await startRegistry(t, { environment: { REGISTRY_REQUIRE_READ_API_KEY: 'on' } })
  for (const path of ['/', '/operator']) t.is((await service.get(path, HTML)).status, 200)
  t.is((await service.get('/operator')).json().detail, 'This is a page: open it in a browser')
  for (const path of ['/operator/', '/admin', '/admin/']) {
    const reply = await service.get(path, HTML)
    t.is(reply.status, 308)
    t.is(new URL(reply.headers.get('location') ?? '', `${service.url}${path}`).pathname, '/operator')
  }
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
  const version = /"(assets\/[\w-]{12})\/web\/base\.css"/.exec(page.text)?.[1] ?? ''
  for (const path of ['', ...NOT_SERVED.split(/\s+/)]) {
    t.is((await service.get(`/assets/${path}`)).status, 404, path)
    t.is((await service.get(`/${version}/${path}`)).status, 404, path)
  }
  const before = await service.get(`/assets/other-versi0/web/base.css`)
  t.is(before.status, 404)
  t.is(before.headers.get('cache-control'), 'no-store')
})

const SCRIPT = 'text/javascript; charset=utf-8'
const TYPES: Record<string, string> = {
  '.ts': SCRIPT,
  '.js': SCRIPT,
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const NOT_SERVED = `package.json service.ts http/app.ts web ../package.json web/../service.ts web/%2e%2e/service.ts
  %2fetc%2fpasswd ..%2f..%2fpackage.json web/board.ts%00 %zz __proto__`

test('pages: the shell is revalidated, its files are kept for a year', async (t) => {
  const service = await startRegistry(t)
  const shell = await service.get('/', HTML)
  t.is(shell.headers.get('cache-control'), 'no-cache')
  const etag = shell.headers.get('etag') ?? ''
  t.is((await service.get('/', { ...HTML, 'If-None-Match': etag })).status, 304)
  const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(shell.text) ?? []
  for (const encoding of ['gzip', 'identity']) {
    const { headers } = await service.get(`/${script}`, { 'Accept-Encoding': encoding })
    t.is(headers.get('cache-control'), 'public, max-age=31536000, immutable')
    t.is(headers.get('vary'), 'Accept-Encoding')
  }
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
