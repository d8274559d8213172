import { type ListingStatus, renderListing } from '../src/domain/listing.ts'
import type { Micros } from '../src/domain/timestamp.ts'
import type { Row } from '../src/listing-index/copy.ts'

/**
 * Listings of the `vms.compute` domain, oldest first, about 1 KB each. A generator, so a million need the memory of one; the
 * same seed gives the same bytes.
 */
export function* generateListings(
  count: number,
  seed = 1,
  publishers: readonly Publisher[] = PUBLISHERS,
): Generator<Row> {
  const random = randomFrom(seed)
  let createdAt: Micros = FIRST_CREATED_AT
  for (let n = 0; n < count; n++) {
    createdAt += 1 + Math.floor(random() * 30_000_000)
    yield generateListing(n, createdAt, { random, publishers })
  }
}

export type SeededRandom = () => number

export type Publisher = { id: number; address: string }

/** Numbers from 0 to 1, 1 excluded: mulberry32, with 32 bits of state. */
export function randomFrom(seed: number): SeededRandom {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One of them; earlier ones are more frequent, the first one in about one of √n. */
export const favouring = <T>(values: readonly T[], random: SeededRandom): T =>
  values[Math.floor(random() ** 2 * values.length)]!

export const MODELS =
  'H100|RTX 4090|A100|H200|L40S|RTX 3090|B200|RTX 5090|L4|T4|A10|V100|A40|RTX A6000|RTX 6000 Ada|L40|RTX A5000|RTX A4000|RTX 4080|RTX 3080|RTX 5080|RTX 4070 Ti|RTX 3080 Ti|RTX 5000 Ada|RTX A4500|RTX 4070|RTX 3070|RTX 4080 Super|RTX 4500 Ada|RTX 3090 Ti|RTX 4070 Ti Super|RTX 5070 Ti|RTX 4000 Ada|RTX A5500|RTX 5070|RTX 4070 Super|RTX 3070 Ti|B100'.split(
    '|',
  )
export const REGIONS =
  'California, US|Virginia, US|Frankfurt, DE|New York, US|Tokyo, JP|London, GB|Amsterdam, NL|Oregon, US|Singapore, SG|Paris, FR|Texas, US|Seoul, KR|Stockholm, SE|Montreal, CA|Sydney, AU|Mumbai, IN|Warsaw, PL|Helsinki, FI|Zurich, CH|Dublin, IE|Madrid, ES|Milan, IT|Osaka, JP|Hong Kong, HK|Taipei, TW|Dubai, AE|São Paulo, BR|Johannesburg, ZA|Reykjavík, IS|Oslo, NO'.split(
    '|',
  )
const address = (n: number): string => `0x${(0x9e3779b1 * (n + 1)).toString(16).padStart(40, 'ab5cf0d')}`
export const TOKENS = Array.from({ length: 12 }, (_, n) => address(n))
export const GPU_COUNTS = [1, 8, 2, 4, 1, 16]
export const MEMORY_GB = [64, 128, 256, 512, 1024, 96, 192, 1536, 32, 2048]

const FIRST_CREATED_AT: Micros = Date.UTC(2025, 0, 1) * 1000
export const PUBLISHERS: readonly Publisher[] = Array.from({ length: 5000 }, (_, n) => ({
  id: n + 1,
  address: address(n),
}))
export const CHAINS = ['base_sepolia', 'ethereum_sepolia', 'anvil']
const CPUS = ['AMD EPYC 9654', 'Intel Xeon Platinum 8480+', 'AMD EPYC 7763', 'Intel Xeon Gold 6338']
const DISKS = ['Samsung MZTL3T8HEFK', 'Micron 7450', 'Solidigm D7-P5520', 'WD SN850X']
const BOARDS = ['Supermicro H13DSG-O-CPU', 'ASUS ESC8000A-E12', 'Gigabyte G593-SD0']
const VIRTUALIZATIONS = ['vm', 'container', 'bare_metal']
const INTERCONNECTS = ['pcie_only', 'nvlink', 'nvswitch', 'infiniband']
const STATUSES: readonly ListingStatus[] = ['open', 'open', 'open', 'open', 'open', 'closed', 'expired']

function generateListing(
  n: number,
  createdAt: Micros,
  { random, publishers }: { random: SeededRandom; publishers: readonly Publisher[] },
): Row {
  const publisher = favouring(publishers, random)
  const status = favouring(STATUSES, random)
  const record = {
    listingId: listingId(random),
    publisherId: publisher.id,
    status,
    createdAt,
    updatedAt: createdAt,
    ...offer(n, random),
    demands: JSON.stringify([demand(publisher.address, random)]),
    maxDurationSeconds: String(3600 * Math.ceil(random() * 720)),
    oracleAddress: random() < 0.05 ? JSON.stringify(publisher.address) : 'null',
    settlementOptions: '[]',
  }
  const bytes = Buffer.from(renderListing(record, `https://seller-${publisher.id}.compute.example/`))
  return { key: record.listingId, seller: publisher.id, status, position: createdAt, bytes }
}

function offer(n: number, random: SeededRandom): { offerResource: string; acceptedEscrows: string } {
  const gpus = favouring(GPU_COUNTS, random)
  return {
    offerResource: JSON.stringify(offerResource(n, gpus, random)),
    acceptedEscrows: JSON.stringify(escrows(gpus, random)),
  }
}

function offerResource(n: number, gpus: number, random: SeededRandom): Record<string, unknown> {
  const memory = favouring(MEMORY_GB, random)
  const sometimes = <T>(value: T): T | undefined => (random() < 0.7 ? value : undefined)
  return {
    resource_id: `compute-${n.toString(36)}`,
    gpu_model: favouring(MODELS, random),
    gpu_count: gpus,
    sla: [99.5, 99.9, 95.0, 99.99, 90.0][Math.floor(random() * 5)],
    region: favouring(REGIONS, random),
    vcpu_count: 8 * Math.ceil(random() * 24),
    ram_gb: memory,
    disk_gb: random() < 0.1 ? null : 100 * Math.ceil(random() * 200),
    virtualization_type: favouring(VIRTUALIZATIONS, random),
    cpu_type: sometimes(favouring(CPUS, random)),
    host_cpu_cores: sometimes(16 * Math.ceil(random() * 12)),
    host_ram_gb: sometimes(memory * 2),
    host_disk_gb: sometimes(1000 * Math.ceil(random() * 60)),
    host_disk_type: sometimes(favouring(DISKS, random)),
    motherboard: sometimes(favouring(BOARDS, random)),
    total_gpu_count: sometimes(gpus * 2),
    gpu_interconnect: favouring(INTERCONNECTS, random),
    nic_speed_gbps: sometimes(favouring([10, 25, 100, 1, 400], random)),
    internet_download_mbps: Math.ceil(random() * 10_000),
    internet_upload_mbps: Math.ceil(random() * 10_000),
    static_ip: random() < 0.5,
    open_ports_count: sometimes(Math.ceil(random() * 1000)),
    datacenter_grade: random() < 0.6,
  }
}

/** One or two; one in ten has no token. */
function escrows(gpus: number, random: SeededRandom): unknown[] {
  const named = random() >= 0.1
  return Array.from({ length: random() < 0.3 ? 2 : 1 }, () => ({
    chain_name: favouring(CHAINS, random),
    escrow_address: '0x2b5ad5c4795c026514f8317c7a215e218dccd6cf',
    ...priced(named ? favouring(TOKENS, random) : null, gpus, random),
  }))
}

/** Cents per GPU and hour, as 6 decimals, or 18 of one token; one in four also has a rate per day. */
function priced(token: string | null, gpus: number, random: SeededRandom): Record<string, unknown> {
  const zeros = token === TOKENS[5] ? '0000000000000000' : '0000'
  const cents = gpus * Math.ceil(5 + random() ** 2 * 600)
  const rate = (per: string, value: number) => ({ field: 'amount', per, value: `${value}${zeros}` })
  const rates = [rate('hour', cents)]
  if (random() < 0.25) rates.push(rate('day', 20 * cents))
  return { literal_fields: token === null ? {} : { token }, rates }
}

const demand = (recipient: string, random: SeededRandom): unknown => ({
  chain_name: favouring(CHAINS, random),
  arbiter: '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
  demand_data: { recipient },
})

/** In the form of a UUID. */
function listingId(random: SeededRandom): string {
  const hex = (digits: number) =>
    Math.floor(random() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0')
  return `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(6)}${hex(6)}`
}
