import type { ProvenanceJson } from '../wire/listing.ts'

/**
 * A listing that fits the listing shape. A Registry that only warns of the shape, and an upstream, may serve other values.
 * @typeParam Offer by default, members of both shipped vocabularies
 */
export type Listing<Offer = Partial<GpuMachine & ApiCredits>> = {
  listing_id: string
  /** Of the Registry that `_meta.registry` names. */
  publisher_id: number
  storefront_url: string | null
  offer_resource: Offer
  accepted_escrows: Escrow[]
  /** On the signed line. */
  settlement_options?: SettlementOption[]
  /** On the signed line: who publishes it, the primary key first. */
  publisher_principals?: { identities: { scheme: 'eip191' | 'ed25519'; identifier: string }[] }
  demands: unknown[]
  max_duration_seconds: number | null
  oracle_address: string | null
  status: 'open' | 'closed' | 'expired'
  /** ISO 8601; UTC where it has no offset. */
  created_at: string
  updated_at: string
  /** Of a gateway: docs/contract.md#32-items. */
  _meta?: ProvenanceJson
}

/** What a seller publishes. A republished listing keeps the members that are absent. */
export type ListingDraft<Offer = Partial<GpuMachine & ApiCredits>> = Pick<Listing<Offer>, 'listing_id'> &
  Partial<
    Omit<Listing<Offer>, 'publisher_id' | 'publisher_principals' | 'created_at' | 'updated_at' | '_meta'>
  >

/** An offer by `config/filter-spec.yaml`. */
export type GpuMachine = {
  gpu_model: string
  region: string
  sla?: number
  cpu_type?: string
  host_disk_type?: string
  motherboard?: string
  gpu_interconnect?: string
  virtualization_type?: string
  static_ip?: boolean
  datacenter_grade?: boolean
  gpu_count?: number
  vcpu_count?: number
  ram_gb?: number
  disk_gb?: number
  host_cpu_cores?: number
  host_ram_gb?: number
  host_disk_gb?: number
  total_gpu_count?: number
  nic_speed_gbps?: number
  internet_download_mbps?: number
  internet_upload_mbps?: number
  open_ports_count?: number
}

/** An offer by `config/filter-spec.apicredits.yaml`. */
export type ApiCredits = {
  service_name: string
  kind?: string
  description?: string | null
  openapi_url?: string | null
  base_url?: string | null
  resource_id?: string | null
}

export type SettlementOption = {
  /** 64 hex digits. */
  option_id: string
  /** `fiat.stripe.v1`. */
  mechanism: string
  /** `usd`. */
  asset: string
  /** `value` is a number of least units of the asset, as text. */
  rates: { field: string; per: string; value: string }[]
  params: Record<string, unknown>
}

export type Escrow = {
  chain_name: string
  escrow_address: string
  literal_fields: { token?: string; [name: string]: unknown }
  /** `value` is a number of base units of the token, as text. */
  rates?: { field?: string; per?: string; value?: string }[]
}
