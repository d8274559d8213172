import type { ExecutionContext } from 'ava'
import { listingText } from '../../helpers/fake-registry.ts'
import { patientToml, startFake, startPatientGateway } from '../../helpers/gateway.ts'
import type { RunningService } from '../../helpers/registry.ts'
import { ALICE } from '../../helpers/seller.ts'

export const CAROL = `0x${'c'.repeat(40)}`
export const SHOPS = [
  [0, ALICE.address, 'https://alice.example/shop'],
  [1, CAROL, 'https://carol.example/shop'],
] as const

export const offer = (id: string, seller: number, gpu_model: string, second: number): string =>
  listingText({
    listing_id: id,
    publisher_id: seller,
    storefront_url: SHOPS[seller]![2],
    offer_resource: { gpu_model, gpu_count: 8, region: 'Oslo' },
    created_at: `2026-11-20T10:00:0${second}`,
  })

/** The own Registry, one source in memory and one that is live. Alice sells in all three, `shared` as different models. */
export async function openMarket(t: ExecutionContext, rules = '') {
  const held = await startFake(t, {
    items: [offer('shared', 0, 'H200', 3), offer('held-carol', 1, 'A100', 2)],
    publishers: SHOPS,
  })
  const live = await startFake(t, {
    items: [offer('shared', 0, 'H100', 3), offer('live-carol', 1, 'H200', 2)],
    publishers: SHOPS,
  })
  const upstreams = [
    { name: 'held', url: held.url },
    { name: 'live', url: live.url },
  ]
  const environment = { REGISTRY_ADMIN_API_KEY: 'admin' }
  const service = await startPatientGateway(t, upstreams, { environment, more: rules })
  const reload = (more: string) => service.reload(patientToml(upstreams, more))
  return { ...service, reload }
}

export type Item = {
  listing_id: string
  _meta: { registry: string; also_in: string[]; not_in?: string[]; label?: string }
}

export async function itemsOf(service: RunningService, query = ''): Promise<Item[]> {
  const reply = await service.get(`/listings${query}`)
  const { items, total_after_filter } = reply.json() as { items: Item[]; total_after_filter: number }
  if (items.length !== total_after_filter) throw new Error(`${items.length} of ${total_after_filter}`)
  return items
}

export const shown = async (service: RunningService, query = ''): Promise<string[]> =>
  (await itemsOf(service, query)).map(({ listing_id, _meta }) => `${_meta.registry}/${listing_id}`).sort()
