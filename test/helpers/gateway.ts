import { setImmediate } from 'node:timers/promises'
import type { ExecutionContext } from 'ava'
import type { Overrides } from '../../src/context/process.ts'
import { type FakeOptions, type FakeRegistry, startFakeRegistry } from './fake-registry.ts'
import { type Reply, type RunningService, startRegistry, type Teardown } from './registry.ts'

/** An upstream of a gateway under test. `settings`: further lines of its `[[upstreams]]` table. */
export type UpstreamEntry = { name: string; url: string; settings?: string; allowPrivateAddresses?: boolean }

/** The gateway file over these upstreams. */
export const gatewayToml = (upstreams: readonly UpstreamEntry[], more = ''): string =>
  [
    more,
    ...upstreams.map(
      ({ name, url, settings = '', allowPrivateAddresses = true }) =>
        `[[upstreams]]\nname = "${name}"\nurl = "${url}"\nallow_private_addresses = ${allowPrivateAddresses}\n${settings}\n`,
    ),
  ].join('\n')

type Options = Overrides & { environment?: Record<string, string>; more?: string }

/** The real service as a gateway over these upstreams, closed when the test ends. */
export const startGateway = (
  t: Teardown,
  upstreams: readonly UpstreamEntry[],
  { more, ...options }: Options = {},
): Promise<RunningService> => startRegistry(t, { ...options, toml: gatewayToml(upstreams, more) })

/** The same with time limits that a busy machine keeps. `more` begins with lines of `[gateway]`. */
export const startPatientGateway = (
  t: Teardown,
  upstreams: readonly UpstreamEntry[],
  { more, ...options }: Options = {},
): Promise<RunningService> => startRegistry(t, { ...options, toml: patientToml(upstreams, more) })

/** The gateway file of a patient gateway. */
export const patientToml = (upstreams: readonly UpstreamEntry[], more = ''): string =>
  gatewayToml(
    upstreams.map((one) => ({ ...one, settings: `${PATIENT_UPSTREAM}\n${one.settings ?? ''}` })),
    `[gateway]\nbudget_ms = 120000\n${more}`,
  )

const PATIENT_UPSTREAM = 'timeout_ms = 60000\nconnect_timeout_ms = 60000'

/** A scripted Registry, closed when the test ends. */
export async function startFake(t: ExecutionContext, options: FakeOptions = {}): Promise<FakeRegistry> {
  const fake = await startFakeRegistry(options)
  t.teardown(() => fake.close())
  return fake
}

/** Resolves when every snapshot upstream was pulled or has failed. */
export async function whenReady({ get }: Pick<RunningService, 'get'>): Promise<void> {
  while ((await get('/ready')).status !== 200) await setImmediate()
}

/** The answer of a gateway once it is ready, which is stopped then. With the same store, the next one is its restart. */
export async function askBriefly(
  upstream: UpstreamEntry,
  path: string,
  environment: Record<string, string>,
): Promise<Reply> {
  const closers: (() => unknown)[] = []
  const own: Teardown = { teardown: (close: () => unknown) => void closers.unshift(close) }
  try {
    const service = await startGateway(own, [upstream], { environment })
    await whenReady(service)
    return await service.get(path)
  } finally {
    for (const close of closers) await close()
  }
}
