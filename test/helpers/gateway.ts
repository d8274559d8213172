import type { ExecutionContext } from 'ava'
import { eventually } from './eventually.ts'
import { type FakeOptions, type FakeRegistry, listingTexts, startFakeRegistry } from './fake-registry.ts'
import {
  closable,
  type RegistryOptions,
  type Reply,
  type RunningService,
  startRegistry,
  type Teardown,
} from './registry.ts'

/** An upstream of a gateway under test. `settings`: further lines of its `[[upstreams]]` table. */
export type UpstreamEntry = { name: string; url: string; settings?: string; allowPrivateAddresses?: boolean }

/** The gateway file over these upstreams. */
export const gatewayToml = (upstreams: readonly UpstreamEntry[], more = ''): string =>
  [
    more,
    ...upstreams.map(
      ({ name, url, settings = '', allowPrivateAddresses = true }) =>
        `[[upstreams]]\nname = "${name}"\nurl = "${url}"\nallow_private_addresses = ${allowPrivateAddresses}\n` +
        `${settings}\n`,
    ),
  ].join('\n')

export type GatewayOptions = Omit<RegistryOptions, 'toml'> & { more?: string }

/** The real service as a gateway that has pulled these upstreams, or failed to. Closed when the test ends. */
export const startGateway = (
  t: Teardown,
  upstreams: readonly UpstreamEntry[],
  { more, ...options }: GatewayOptions = {},
): Promise<RunningService> => startRegistry(t, { ...options, toml: gatewayToml(upstreams, more) })

/** The same with time limits that a busy machine keeps. `more` begins with lines of `[gateway]`. */
export const startPatientGateway = (
  t: Teardown,
  upstreams: readonly UpstreamEntry[],
  { more, ...options }: GatewayOptions = {},
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

/** A gateway over `large`, which is held in part and answers no lookup, and `small`, whose one listing it may have. */
export async function startUnchecked(
  t: ExecutionContext,
  members: Record<string, unknown> = {},
): Promise<RunningService> {
  const away = { kind: 'status', status: 500 } as const
  const large = await startFake(t, {
    items: listingTexts('large', 300),
    publishers: [],
    publisherScript: away,
    listingScript: away,
  })
  const small = await startFake(t, {
    items: listingTexts('small', 1, members),
    publishers: [[1, `0x${'a'.repeat(40)}`]],
  })
  return startGateway(t, [
    { name: 'large', url: large.url, settings: 'max_listings = 100' },
    { name: 'small', url: small.url },
  ])
}

/** Resolves when every snapshot upstream was pulled or has failed. */
export async function whenReady({ get }: Pick<RunningService, 'get'>): Promise<void> {
  await eventually(
    'ready',
    async () => (await get('/ready')).status,
    (status) => status === 200,
  )
}

/** The answer of a gateway, which is stopped then. With the same store, the next one is its restart. */
export async function askBriefly(
  t: Teardown,
  upstream: UpstreamEntry,
  path: string,
  environment: Record<string, string>,
): Promise<Reply> {
  const owner = closable(t)
  const { get } = await startGateway(owner, [upstream], { environment })
  const reply = await get(path)
  await owner.close()
  return reply
}
