import test, { type ExecutionContext } from 'ava'
import { readReliability, renderReliability } from '../../../scripts/reliability-docs.ts'
import { type Clock, systemClock } from '../../../src/domain/clock.ts'
import { MAX_RETRY_DELAY_MS } from '../../../src/upstream/interceptors/retry.ts'
import { trustOurAuthority } from '../../helpers/certificates.ts'
import { eventually } from '../../helpers/eventually.ts'
import { startGateway, type UpstreamEntry } from '../../helpers/gateway.ts'
import { type ManualClock, manualClock } from '../../helpers/manual-clock.ts'
import type { RunningService } from '../../helpers/registry.ts'
import { temporaryStore } from '../../helpers/run-cli.ts'
import { identityToml } from '../../helpers/signed-registry.ts'
import { type FailingUpstream, startFailingUpstream, TestDns } from './failing-upstream.ts'
import { BUDGET_MS, FAULT_CASES, FAULTS, type FaultCase, TIMEOUT_MS } from './fault-cases.ts'

/** Reaches into the second page of an upstream. */
const QUERY = 'offset=20&limit=200'
const REFRESH_MS = 15_000

trustOurAuthority()

for (const kept of ['none', 'fresh', 'stale'] as const) {
  const cases = FAULT_CASES.filter(([ofKept]) => ofKept === kept)

  test.serial(`fault matrix: ${kept}: every upstream fails as the table says`, async (t) => {
    const { gateway, upstreams } = await stage(t, cases)
    const seen = await Promise.all(upstreams.map((upstream) => observe(gateway, upstream)))
    t.deepEqual(
      seen.map(({ observed, calls }, n) => [
        kept,
        upstreams[n]?.fault,
        ...observed,
        inBounds(calls, cases[n]![7]),
      ]),
      cases,
    )
    await reportsAll(t, gateway, upstreams)
  })
}

test('fault matrix: docs/reliability.md agrees with the table', (t) => {
  t.is(readReliability(), renderReliability(), 'run npm run docs')
})

type Observed = {
  observed: readonly (string | number | boolean | null)[]
  calls: number | null
}

/** The row's limit, where it applies. */
const inBounds = (calls: number | null, expected: FaultCase[7]): FaultCase[7] =>
  typeof expected === 'string' && calls !== null && calls <= Number(expected.slice(2)) ? expected : calls

async function observe(gateway: RunningService, upstream: FailingUpstream): Promise<Observed> {
  const { fault, name, fake, callsBefore } = upstream
  const { status, complete, state, reason, items } = await queryUpstream(gateway, name)
  const calls = FAULTS.get(fault)?.calls === null ? null : fake.requests.length - callsBefore
  return { observed: [status, complete, state, reason, items], calls }
}

/** An answer of all sources reports every one, in the order of the configuration. */
async function reportsAll(
  t: ExecutionContext,
  gateway: RunningService,
  upstreams: readonly FailingUpstream[],
): Promise<void> {
  const { text } = await gateway.get('/listings?timeout_ms=1000')
  t.deepEqual(
    JSON.parse(text).sources.map(({ registry }: { registry: string }) => registry),
    ['local', ...upstreams.map(({ name }) => name)],
  )
}

/** A gateway over one upstream per row, just after all have failed. */
async function stage(
  t: ExecutionContext,
  cases: readonly FaultCase[],
): Promise<{ gateway: RunningService; upstreams: FailingUpstream[] }> {
  const [kept] = cases[0]!
  const clock = manualClock()
  const pulls = pullsOn(clock)
  const directory = new TestDns()
  const upstreams = await Promise.all(cases.map(([, fault]) => startFailingUpstream(t, fault, directory)))
  if (kept === 'none') await Promise.all(upstreams.map(({ fail }) => fail()))
  const gateway = await startGateway(t, upstreams.map(upstreamEntry), {
    clock: pulls.clock,
    lookup: directory.lookup,
    random: () => 0.5,
    more: `[gateway]\nbudget_ms = ${BUDGET_MS}\n${identityToml(t)}`,
    environment: { STORE_URL: temporaryStore(t) },
    isLoaded: false,
  })
  const ending = upstreams.filter(({ fault }) => FAULTS.get(fault)?.outlasts !== true).length
  if (kept === 'none') {
    await eventually('pulled', () => pulls.waiting() >= ending)
    return { gateway, upstreams }
  }
  await eventually('pulled', () => pulls.waiting() === upstreams.length)
  await Promise.all(upstreams.map(({ name }) => queryUpstream(gateway, name)))
  await Promise.all(upstreams.map(({ fail }) => fail()))
  for (const upstream of upstreams) upstream.callsBefore = upstream.fake.requests.length
  clock.advance((kept === 'fresh' ? 1 : 2) * REFRESH_MS + 1)
  await eventually('pulled', () => pulls.waiting() >= ending)
  return { gateway, upstreams }
}

/**
 * A clock with the number of upstreams that wait for their next pull, recognised by the length of the wait. The
 * short delays before a second attempt pass by themselves.
 */
function pullsOn(clock: ManualClock): { clock: Clock; waiting: () => number } {
  let waiting = 0
  const after: Clock['after'] = (ms, act) => {
    if (ms <= MAX_RETRY_DELAY_MS) return systemClock.after(ms, act)
    if (ms !== REFRESH_MS) return clock.after(ms, act)
    waiting++
    let isOver = false
    const end = (): void => {
      if (!isOver) waiting--
      isOver = true
    }
    const cancel = clock.after(ms, () => {
      end()
      act()
    })
    return () => {
      end()
      cancel()
    }
  }
  return { clock: { ...clock, after }, waiting: () => waiting }
}

function upstreamEntry({ name, url, fault }: FailingUpstream): UpstreamEntry {
  const { timeoutMs = TIMEOUT_MS, way } = FAULTS.get(fault)!
  const settings = `timeout_ms = ${timeoutMs}\nrefresh_seconds = ${REFRESH_MS / 1000}\nfull_refresh_seconds = ${REFRESH_MS / 1000}\n`
  const pin = way === 'signed' ? PIN : ''
  return { name, url, settings: `${settings}${pin}`, allowPrivateAddresses: way !== 'private' }
}

const PIN = `protocol = "signed"\nauthority = "one"\nidentities = [{ scheme = "eip191", identifier = "0x${'a'.repeat(40)}" }]\n`

type Answer = {
  status: number
  complete: boolean | null
  state: string
  reason: string | null
  items: number
}

async function queryUpstream(gateway: RunningService, name: string): Promise<Answer> {
  const { status, text } = await gateway.get(`/listings?${QUERY}&sources=${name}`)
  const { complete = null, sources, items = [] } = JSON.parse(text)
  const [{ state, reason = null }] = sources
  return { status, complete, state, reason, items: items.length }
}
