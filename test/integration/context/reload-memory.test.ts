import { readFileSync, writeFileSync } from 'node:fs'
import test from 'ava'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import { collectGarbage } from '../../helpers/collect-garbage.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { temporaryFile } from '../../helpers/run-cli.ts'
import { publishOf } from '../../helpers/store/subject.ts'

const LISTINGS = 2000
const RELOADS = 8

test('reload: the index of a closed configuration leaves memory', async (t) => {
  const spec = temporaryFile(t, 'filter-spec.yaml', '')
  const ours = readFileSync('config/filter-spec.yaml', 'utf8')
  const setSpec = (n: number) =>
    writeFileSync(
      spec,
      `${ours}  - {name: f${n}, path: $.offer_resource.f${n}, op: in, value_type: string, on_missing: fail}\n`,
    )
  setSpec(0)
  const store = openSqliteStore(':memory:')
  for (let n = 0; n < LISTINGS; n++) await store.publish(publishOf(`L${n}`))
  const used = async (): Promise<number> => {
    for (let n = 0; n < 3; n++) {
      await new Promise((resolve) => setImmediate(resolve))
      collectGarbage()
    }
    return process.memoryUsage().arrayBuffers
  }
  const empty = await used()
  const { get, reload } = await startRegistry(t, { environment: { REGISTRY_FILTER_SPEC_PATH: spec }, store })
  await get('/listings')
  const first = await used()
  for (let n = 1; n <= RELOADS; n++) {
    setSpec(n)
    await reload('')
    t.is((await get(`/listings?f${n}=x`)).json().total_after_filter, 0)
  }
  const last = await used()
  t.log({ empty, first, last })
  t.true(last - first < first - empty, 'after all these reloads less than one more index')
})
