import { readFileSync, writeFileSync } from 'node:fs'
import test from 'ava'
import { listingTexts } from '../../../helpers/fake-registry.ts'
import { startFarCopies } from '../../../helpers/far-copies.ts'
import { startFake, startPatientGateway } from '../../../helpers/gateway.ts'
import { manualClock } from '../../../helpers/manual-clock.ts'
import { temporaryFile } from '../../../helpers/run-cli.ts'
import { mintKey } from '../../../helpers/seller.ts'
import { idsOf, readPage, walkAll } from '../../../helpers/sequence.ts'

test('pages: by cursor and by offset lose and repeat nothing, on a replica but a copy that is far away', async (t) => {
  const { fakes, ids, shared } = await startFarCopies(t, 450)
  const upstreams = fakes.map(({ url }, n) => ({ name: `r${n}`, url }))
  const environment = { REGISTRY_ADMIN_API_KEY: 'shared by the two' }
  const services = [
    await startPatientGateway(t, upstreams, { environment }),
    await startPatientGateway(t, upstreams, { environment }),
  ]
  const byOffset: string[] = []
  for (let offset = 0; offset < ids.length; offset += 100)
    byOffset.push(...idsOf(await readPage(services[0]!, `limit=100&offset=${offset}`)))
  t.deepEqual(byOffset.toSorted(), [...ids])
  t.deepEqual((await walkAll(services[0]!, 'limit=70')).toSorted(), [...ids])
  const inTurns = await walkAll(services, 'limit=70')
  t.deepEqual([...new Set(inTurns)].sort(), [...ids])
  const repeats = inTurns.filter((id, n) => inTurns.indexOf(id) !== n)
  t.is(new Set(repeats).size, repeats.length, 'none three times')
  t.deepEqual(
    repeats.filter((id) => !shared.has(id)),
    [],
  )
})

test('cursor: valid for one query only, another filter, status, source or reader is refused', async (t) => {
  const open = await startFake(t, { items: listingTexts('a', 80) })
  const hidden = await startFake(t, { items: listingTexts('h', 80) })
  const clock = manualClock()
  const service = await startPatientGateway(
    t,
    [
      { name: 'a', url: open.url },
      { name: 'h', url: hidden.url, settings: 'visibility = "private"' },
    ],
    { environment: { REGISTRY_ADMIN_API_KEY: 'admin' }, clock },
  )
  const { bearer } = await mintKey(service.url)
  const { next_cursor } = (await service.get('/listings?limit=10', bearer)).json()
  const again = `limit=20&cursor=${next_cursor}`
  t.is((await service.get(`/listings?${again}`, bearer)).json().count, 20)
  for (const [query, headers] of [
    [again, {}],
    [`${again}&status=closed`, bearer],
    [`${again}&gpu_model=H100`, bearer],
    [`${again}&sources=a`, bearer],
    [`${again}&publisher=0xabc`, bearer],
    [`${again}x`, bearer],
    [`limit=5&cursor=${String(next_cursor).slice(0, -3)}AAA`, bearer],
  ] as const) {
    const { status, json } = await service.get(`/listings?${query}`, headers)
    t.is(status, 400, query)
    t.regex(String(json().detail), /cursor/)
  }
  clock.advance(3_600_000)
  t.is((await service.get(`/listings?${again}`, bearer)).status, 200)
  clock.advance(1000)
  t.regex(String((await service.get(`/listings?${again}`, bearer)).json().detail), /cursor.*expired/)
})

test('cursor: refused once a reload has given a filter of its query another meaning', async (t) => {
  const fake = await startFake(t, { items: listingTexts('a', 30) })
  const specOf = (member: string): string =>
    readFileSync('config/filter-spec.yaml', 'utf8') +
    `  - {name: kind, path: $.offer_resource.${member}, op: not_in, value_type: string, on_missing: pass}\n`
  const spec = temporaryFile(t, 'filter-spec.yaml', specOf('gpu_model'))
  const service = await startPatientGateway(t, [{ name: 'a', url: fake.url }], {
    environment: { REGISTRY_FILTER_SPEC_PATH: spec },
  })
  const asked = 'limit=10&kind=not_in:[x]'
  const plain = await readPage(service, 'limit=10')
  const { next_cursor } = await readPage(service, asked)
  writeFileSync(spec, specOf('other'))
  await service.context.reload()
  const refused = await service.get(`/listings?${asked}&cursor=${next_cursor}`)
  t.is(refused.status, 400)
  t.regex(String(refused.json().detail), /cursor: is not valid/)
  t.is((await readPage(service, `limit=10&cursor=${plain.next_cursor}`)).items.length, 10)
})
