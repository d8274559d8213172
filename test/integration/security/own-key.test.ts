import test from 'ava'
import { listingText, listingTexts } from '../../helpers/fake-registry.ts'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { filterOf, specBody } from '../../helpers/specs.ts'

const KEY = `${'k'.repeat(20)}-0123456789abcdef`
const environment = { UPSTREAM_KEY: KEY }
const settings = 'api_key_env = "UPSTREAM_KEY"'

test('own key: an answer that contains our key is refused', async (t) => {
  const items = [...listingTexts('a', 2), listingText({ offer_resource: { note: `Bearer ${KEY}` } })]
  for (const [kind, encoding] of [
    ['registry', {}],
    ['registry', { encoding: 'gzip' }],
    ['gateway', {}],
  ] as const) {
    const fake = await startFake(t, { items, kind, script: [{ kind: 'serve', ...encoding }] })
    const upstream = { name: 'a', url: fake.url, settings: `${settings}\nkind = "${kind}"` }
    const { get } = await startGateway(t, [upstream], { environment })
    const { text, json } = await get('/listings')
    t.false(text.includes(KEY))
    t.regex(text, /"reason":"bad_envelope"/, kind)
    t.is(json().items, undefined)
  }
})

test('own key: a filter spec that contains our key is refused', async (t) => {
  const filterSpec = { ...specBody('e', [filterOf('note')]), description: KEY }
  const fake = await startFake(t, { items: listingTexts('a', 2), filterSpec })
  const { get } = await startGateway(t, [{ name: 'a', url: fake.url, settings }], { environment })
  await get('/listings')
  const { text } = await get('/filter-spec')
  t.false(text.includes('note'))
  for (const path of ['/listings', '/filter-spec', '/sources', '/openapi.json'])
    t.false((await get(path)).text.includes(KEY), path)
})

test('own key: a missing source named like our key is refused', async (t) => {
  const named = JSON.stringify({ sources: [{ registry: KEY, state: 'unavailable' }] })
  const script = [{ kind: 'status', status: 503, body: named }] as const
  const [eu, well] = [await startFake(t, { script }), await startFake(t)]
  const { get } = await startGateway(
    t,
    [
      { name: 'eu', url: eu.url, settings: `${settings}\nkind = "gateway"` },
      { name: 'well', url: well.url },
    ],
    { environment },
  )
  const { text } = await get('/listings')
  t.regex(text, /"registry":"eu","state":"unavailable","reason":"bad_envelope"/)
  t.false(text.includes(KEY))
})

test('own key: a very short key may be part of a listing', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 2) })
  const { get } = await startGateway(t, [{ name: 'a', url: fake.url, settings }], {
    environment: { UPSTREAM_KEY: 'listing' },
  })
  t.is((await get('/listings')).json().count, 2)
})
