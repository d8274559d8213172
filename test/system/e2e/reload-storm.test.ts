import { readFileSync, writeFileSync } from 'node:fs'
import test from 'ava'
import { Agent, request } from 'undici'
import { eventually } from '../../helpers/eventually.ts'
import { listingTexts } from '../../helpers/fake-registry.ts'
import { gatewayToml, startFake } from '../../helpers/gateway.ts'
import { seededRandom } from '../../helpers/random.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { ALICE, publishBody } from '../../helpers/seller.ts'
import { startProcess } from '../../helpers/service-process.ts'

const RELOADS = 15
const READERS = 3
const LISTINGS = 300
const SEED = 20_261_121
const PATIENT = '[gateway]\nbudget_ms = 60000\n[limits]\npublish_per_minute = 0\n'

type Source = { registry: string; state: string; matched: number }

test('reload: under load, every answer has all that every configuration has', async (t) => {
  const { next: random } = seededRandom(SEED)
  const always = await startFake(t, { items: listingTexts('always', LISTINGS) })
  const others = await Promise.all(
    ['b', 'c'].map(async (name) => ({ name, fake: await startFake(t, { items: listingTexts(name, 50) }) })),
  )
  const gateway = temporaryFile(t, 'gateway.toml', '')
  const spec = temporaryFile(t, 'filter-spec.yaml', '')
  const ours = readFileSync('config/filter-spec.yaml', 'utf8')
  const change = (): void => {
    const some = [{ name: 'always', fake: always }, ...others.filter(() => random() < 0.6)]
    const upstreams = (random() < 0.5 ? some : some.toReversed()).map(({ name, fake }) => ({
      name,
      url: fake.url,
      settings: `timeout_ms = ${60_000 + Math.floor(random() * 3)}`,
    }))
    const bytes = 50_000_000 + Math.floor(random() * 2)
    const more = `${PATIENT}[cache]\nmax_bytes = ${bytes}\n`
    writeFileSync(gateway, gatewayToml(upstreams, more))
    const filter = `  - {name: f${Math.floor(random() * 3)}, path: $.offer_resource.f, op: in, value_type: string, on_missing: fail}\n`
    writeFileSync(spec, `${ours}${random() < 0.5 ? filter : ''}${random() < 0.1 ? 'nonsense' : ''}`)
  }
  writeFileSync(spec, ours)
  writeFileSync(
    gateway,
    gatewayToml([{ name: 'always', url: always.url, settings: 'timeout_ms = 60000' }], PATIENT),
  )
  const service = await startProcess('sqlite::memory:', {
    ENTREPOT_CONFIG: gateway,
    REGISTRY_FILTER_SPEC_PATH: spec,
  })
  await eventually('ready', () => fetch(`${service.url}/ready`).then(({ ok }) => ok))
  t.teardown(() => service.end('SIGKILL'))
  let isOver = false
  const done = { answers: 0, streams: 0, published: 0, reloaded: 0, refused: 0 }

  const read = async (): Promise<void> => {
    const dispatcher = new Agent({ connections: 1 })
    for (let limit = 1; !isOver; limit = (limit % 200) + 1, done.answers++) {
      const { statusCode, body } = await request(`${service.url}/listings?limit=${limit}`, { dispatcher })
      const answer = (await body.json()) as { complete: boolean; sources: Source[] }
      t.is(statusCode, 200)
      t.true(answer.complete)
      const source = answer.sources.find(({ registry }) => registry === 'always')
      t.like(source, { state: 'loaded', matched: LISTINGS })
    }
    await dispatcher.close()
  }
  const stream = async (): Promise<void> => {
    for (; !isOver; done.streams++) {
      const headers = { accept: 'application/x-ndjson' }
      const { body } = await request(`${service.url}/listings`, { headers })
      const lines = (await body.text()).trim().split('\n')
      t.true(JSON.parse(lines.at(-1) ?? '')._meta.complete)
      t.is(lines.filter((line) => line.includes('"listing_id":"always-')).length, LISTINGS)
    }
  }
  const publish = async (): Promise<void> => {
    for (; !isOver; done.published++) {
      const id = `own-${done.published}`
      // A signature is good for other listings for some seconds only.
      const signed = await publishBody(ALICE, { listing_id: id })
      const { statusCode, body } = await request(`${service.url}/listings`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(signed),
      })
      await body.dump()
      t.is(statusCode, 201)
      const found = await request(`${service.url}/listings/${id}?registry=local`)
      await found.body.dump()
      t.is(found.statusCode, 200, 'read at once, whichever configuration has taken it')
    }
  }
  const clients = [publish(), stream(), ...Array.from({ length: READERS }, read)]
  for (let n = 0; n < RELOADS; n++) {
    change()
    const logged = service.logged(['reloaded', 'reload failed, the previous configuration stays'])
    service.signal('SIGHUP')
    const [line] = await logged
    done[line?.msg === 'reloaded' ? 'reloaded' : 'refused']++
  }
  isOver = true
  await Promise.all(clients)
  t.log(done)
  t.true(done.reloaded > RELOADS / 2 && done.refused > 0 && done.published > 0 && done.streams > 0)
})
