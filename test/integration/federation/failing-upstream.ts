import type { LookupFunction } from 'node:net'
import type { ExecutionContext } from 'ava'
import { TRUSTED, UNTRUSTED } from '../../helpers/certificates.ts'
import { type FakeRegistry, listingTexts, startFakeRegistry } from '../../helpers/fake-registry.ts'
import { FAULTS, type Fault } from './fault-cases.ts'

/** More than one page, so that repeated pages are noticed. */
const LISTINGS = 220

export type FailingUpstream = {
  fault: string
  name: string
  url: string
  fake: FakeRegistry
  fail: () => Promise<void>
  /** Requests for listings before the failure. */
  callsBefore: number
}

/** Host names that resolve to this machine. */
export class TestDns {
  readonly names = new Set<string>()

  readonly lookup: LookupFunction = (hostname, { all }, callback) => {
    const found = { address: '127.0.0.1', family: 4 }
    if (!this.names.has(hostname))
      callback(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' }), '')
    else if (all) callback(null, [found])
    else callback(null, found.address, found.family)
  }
}

/** A Registry that works until the test makes it fail. */
export async function startFailingUpstream(
  t: ExecutionContext,
  fault: string,
  directory: TestDns,
): Promise<FailingUpstream> {
  const name = fault.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  const { way, behaviour, change } = FAULTS.get(fault)!
  const fake = await startFakeRegistry({
    items: listingTexts(name, LISTINGS),
    ...(way === 'tls' ? { certificate: TRUSTED } : {}),
  })
  let isOpen = true
  const close = async (): Promise<void> => {
    if (isOpen) {
      isOpen = false
      await fake.close()
    }
  }
  t.teardown(close)
  const host = `${name}.example`
  directory.names.add(host)
  const isNamed = way === 'dns' || way === 'private'
  const url = isNamed ? fake.url.replace('127.0.0.1', host) : fake.url
  const failing: Record<NonNullable<Fault['way']>, () => unknown> = {
    refused: close,
    dns: () => {
      directory.names.delete(host)
      fake.hangUp()
    },
    tls: () => fake.hangUp(UNTRUSTED),
    private: () => {},
    signed: () => {},
  }
  const fail = async (): Promise<void> => {
    if (behaviour !== undefined) fake.script = [behaviour]
    change?.(fake)
    if (way !== undefined) await failing[way]()
  }
  return { fault, name, url, fake, fail, callsBefore: 0 }
}
