import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'ava'
import { API_CREDIT_EXAMPLES, VM_EXAMPLES } from '../../demo/offers.ts'
import { presentationRecord } from '../../src/presentation/record.ts'
import { startRegistry } from '../helpers/registry.ts'
import { runCli } from '../helpers/run-cli.ts'
import { ALICE, BOB, publish } from '../helpers/seller.ts'

test.serial('review: a record of each kind, filled by what the storefront shows', async (t) => {
  const seen: string[] = []
  const storefront = createServer((request, response) => {
    seen.push(`${request.url} ${request.headers.authorization ?? 'no key'}`)
    const status = { status: 'ok', paused: false, agent_id: ALICE.address.toLowerCase(), resource_count: 3 }
    response.end(
      JSON.stringify(
        request.url === '/shop/api/v1/system/status' ? status : { status: 'open', paused: false },
      ),
    )
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => storefront.once('listening', resolve))
  t.teardown(() => {
    storefront.closeAllConnections()
    storefront.close()
  })
  const { url } = await startRegistry(t)
  const [machine, credits] = [VM_EXAMPLES[0]!, API_CREDIT_EXAMPLES[0]!]
  const { port } = storefront.address() as AddressInfo
  await publish(url, ALICE, { ...machine, storefront_url: `http://127.0.0.1:${port}/shop/` })
  await publish(url, BOB, { ...credits, storefront_url: 'http://127.0.0.1:1/' })

  const shown = await runCli(['review', machine.listing_id, '-r', url])
  t.is(shown.code, 0)
  const record = presentationRecord.parse(JSON.parse(shown.stdout))
  t.is(record.kind, 'virtual-machine')
  t.is(record.publisher, ALICE.address.toLowerCase())
  t.deepEqual(record.delivery.capacity, {
    status: 'complete',
    label: '3 resources registered at the storefront',
  })
  t.deepEqual(seen.sort(), [
    `/shop/api/v1/listings/${machine.listing_id} no key`,
    '/shop/api/v1/system/status no key',
  ])

  const closed = await runCli(['review', credits.listing_id, '-r', url])
  t.is(closed.code, 0)
  t.is(presentationRecord.parse(JSON.parse(closed.stdout)).kind, 'api-credits')
  t.regex(closed.stderr, /\[storefront\] http:\/\/127\.0\.0\.1:1\/.*not-started/)
  t.is((await runCli(['review', 'nope', '-r', url])).code, 1)
})
