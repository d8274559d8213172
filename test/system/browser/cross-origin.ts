import type { ExecutionContext } from 'ava'
import { moduleGraph } from '../../../src/http/web/module-graph.ts'
import { listen } from '../../helpers/listen.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { ALICE, publish, publishBody } from '../../helpers/seller.ts'
import { test } from './in-chromium.ts'

const KEY = 'k'.repeat(43)

declare global {
  var signMessage: typeof ALICE.signMessage
}

/** A foreign origin with an empty page and the client's modules; its `/frame` frames the URL of its parameter. */
async function startForeignOrigin(t: ExecutionContext): Promise<string> {
  const { modules } = await moduleGraph('client/client')
  const origin = await listen(t, ({ url = '/' }, response) => {
    const script = modules.get(url.slice(1))
    if (script !== undefined)
      return response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(script)
    const framed = new URL(url, 'http://x').searchParams.get('url')
    response.writeHead(200, { 'Content-Type': 'text/html' })
    return response.end(
      `<!doctype html><title>elsewhere</title>${framed === null ? '' : `<iframe src="${framed}"></iframe>`}`,
    )
  })
  // Another host is another origin, and another site.
  return origin.replace('127.0.0.1', 'localhost')
}

test.serial('browser: another origin reads and publishes with a key, and cannot frame pages', async (t) => {
  const { url } = await startRegistry(t, {
    environment: {
      REGISTRY_BOOTSTRAP_API_KEY: KEY,
      REGISTRY_REQUIRE_READ_API_KEY: 'true',
      REGISTRY_REQUIRE_WRITE_API_KEY: 'true',
    },
  })
  await publish(url, ALICE, { listing_id: 'there' }, { headers: { Authorization: `Bearer ${KEY}` } })
  const foreign = await startForeignOrigin(t)
  const context = await t.context.browser.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  await page.goto(foreign)

  /** The answer as a script of that page sees it; `null` where the browser blocks it. */
  const fetchFrom = (path: string, init: object) =>
    page.evaluate(
      ([at, how]) =>
        fetch(at, how as RequestInit).then(
          async (answer) => ({
            status: answer.status,
            body: (await answer.json()) as Record<string, unknown>,
            requestId: answer.headers.get('x-request-id'),
          }),
          () => null,
        ),
      [`${url}${path}`, init] as const,
    )
  const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }
  const read = await fetchFrom('/listings', { headers })
  t.is(read?.status, 200)
  t.is(read?.body.count, 1)
  const refused = await fetchFrom('/listings', {})
  t.is(refused?.status, 401, 'a refusal is readable, too')
  t.is(refused?.body.detail, 'API key required')
  const body = JSON.stringify(await publishBody(ALICE, { listing_id: 'from-elsewhere' }))
  t.is((await fetchFrom('/listings', { method: 'POST', headers, body }))?.status, 201)
  t.is(
    await fetchFrom('/listings', { headers, credentials: 'include' }),
    null,
    'never with the browser’s credentials',
  )

  await page.exposeFunction('signMessage', ALICE.signMessage)
  const readByClient = async ([at, apiKey, address]: readonly string[]) => {
    const module = '/client/client.ts'
    const { createClient, ProblemError } = await import(module)
    const account = { address, signMessage: globalThis.signMessage }
    const client = createClient({ url: at, apiKey, account })
    await client.publish({ listing_id: 'by-client' })
    const ids = []
    for await (const { listing_id } of client.listings()) ids.push(listing_id)
    const problem = await createClient({ url: at })
      .filterSpec()
      .catch((error: unknown) => error)
    return { ids, status: problem instanceof ProblemError ? problem.status : null }
  }
  t.deepEqual(await page.evaluate(readByClient, [url, KEY, ALICE.address]), {
    ids: ['by-client', 'from-elsewhere', 'there'],
    status: 401,
  })

  await page.goto(`${foreign}/frame?url=${encodeURIComponent(`${url}/docs`)}`)
  const [, frame] = page.frames()
  t.is(await frame?.locator('details').count(), 0)
  await page.goto(`${url}/docs`)
  t.not(await page.locator('details').count(), 0)
})
