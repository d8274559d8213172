import { isJsonObject, type JsonValue } from '../../json/value.ts'

// Labels and units of a listing's members, for people.

type Unit = (value: number) => string

const sizeOf =
  (terabyte: number): Unit =>
  (gigabytes) =>
    gigabytes >= terabyte ? `${short(gigabytes / terabyte)} TB` : `${short(gigabytes)} GB`
const memory = sizeOf(1024)
const disk = sizeOf(1000)
const megabits: Unit = (value) => (value >= 1000 ? `${short(value / 1000)} Gbit/s` : `${short(value)} Mbit/s`)
const percent: Unit = (value) => `${value} %`
const gigabits: Unit = (value) => `${short(value)} Gbit/s`

const short = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 1 })

/** `input`: the unit in which a filter takes a value. */
type Member = { label: string; unit?: Unit; input?: string; words?: (value: string) => string }

const MEMBERS: Readonly<Record<string, Member>> = {
  gpu: { label: 'GPU model' },
  gpu_variant: { label: 'GPU variant' },
  gpu_memory_gb: { label: 'GPU memory', unit: memory, input: 'GB' },
  gpu_model: { label: 'GPU model' },
  gpus: { label: 'GPUs' },
  rent_hours: { label: 'Rent', input: 'h' },
  gpu_count: { label: 'GPUs' },
  gpu_interconnect: { label: 'GPU interconnect' },
  total_gpu_count: { label: 'GPUs in the host' },
  country: { label: 'Country', words: countryName },
  continent: { label: 'Place', words: continentName },
  sla: { label: 'SLA', unit: percent, input: '%' },
  vcpu_count: { label: 'vCPUs' },
  ram_gb: { label: 'RAM', unit: memory, input: 'GB' },
  disk_gb: { label: 'Disk', unit: disk, input: 'GB' },
  cpu_type: { label: 'CPU type' },
  virtualization_type: { label: 'Virtualization' },
  host_cpu_cores: { label: 'CPU cores of the host' },
  host_ram_gb: { label: 'RAM of the host', unit: memory, input: 'GB' },
  host_disk_gb: { label: 'Disk of the host', unit: disk, input: 'GB' },
  host_disk_type: { label: 'Disk type' },
  nic_speed_gbps: { label: 'NIC', unit: gigabits, input: 'Gbit/s' },
  internet_download_mbps: { label: 'Download', unit: megabits, input: 'Mbit/s' },
  internet_upload_mbps: { label: 'Upload', unit: megabits, input: 'Mbit/s' },
  static_ip: { label: 'Static IP' },
  open_ports_count: { label: 'Open ports' },
  datacenter_grade: { label: 'Data center grade' },
  service_name: { label: 'Service' },
  base_url: { label: 'Base URL' },
  openapi_url: { label: 'OpenAPI' },
  resource_id: { label: 'Resource' },
  pool_id: { label: 'Pool' },
  token: { label: 'Token' },
  has_oracle: { label: 'Oracle' },
  registry: { label: 'Registry' },
  sources: { label: 'Registry' },
  publisher: { label: 'Seller' },
  status: { label: 'Status' },
}

const memberOf = (name: string): Member | undefined =>
  Object.hasOwn(MEMBERS, name) ? MEMBERS[name] : undefined

/** `gpu_count_min` is labelled as `gpu_count`: its control has both ends. */
export function labelOf(filter: string): string {
  const name = filter.replace(/_(min|max|exclude)$/, '')
  const plain = name.replaceAll('_', ' ')
  return memberOf(name)?.label ?? plain.charAt(0).toUpperCase() + plain.slice(1)
}

/** A filter of what sellers wrote has another label than one of what it means. */
export const filterLabel = (filter: string): string =>
  filter === 'gpu_model' ? 'GPU model as written' : labelOf(filter)

export const inputUnit = (filter: string): string | null =>
  memberOf(filter.replace(/_(min|max)$/, ''))?.input ?? null

/** A seller may send thousands; the JSON has them all. */
export const MAX_MEMBERS = 100

/** `1.5 TB`, `99.5 %`, `yes`; other values as they are. */
export function formatMember(name: string, value: JsonValue): string {
  const { unit, words } = memberOf(name) ?? {}
  if (words !== undefined && typeof value === 'string') return words(value)
  if (unit !== undefined && typeof value === 'number') return unit(value)
  if (value === null) return '–'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? value.toLocaleString('en') : String(value)
  if (typeof value === 'string') return WORDS.get(value) ?? value
  if (Array.isArray(value))
    return value
      .slice(0, MAX_MEMBERS)
      .map((one) => formatMember('', one))
      .join(', ')
  if (isJsonObject(value))
    return Object.entries(value)
      .slice(0, MAX_MEMBERS)
      .map(([member, one]) => `${member}: ${formatMember('', one)}`)
      .join(', ')
  return String(value)
}

const WORDS: ReadonlyMap<string, string> = new Map([
  ['vm', 'virtual machine'],
  ['bare_metal', 'bare metal'],
  ['pcie_only', 'PCIe only'],
  ['nvlink', 'NVLink'],
  ['nvswitch', 'NVSwitch'],
  ['infiniband', 'InfiniBand'],
])

/** `Germany` for `DE`. Safe text where the gateway reads the country, else as it is. */
function countryName(code: string): string {
  return /^[A-Z]{2}$/.test(code) ? (COUNTRY_NAMES.of(code) ?? code) : code
}

const COUNTRY_NAMES = new Intl.DisplayNames('en', { type: 'region' })

/** `Europe (continent)`: many read EU as the European Union. */
function continentName(code: string): string {
  const name = CONTINENT_NAMES.get(code)
  return name === undefined ? code : `${name} (continent)`
}

const CONTINENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['AF', 'Africa'],
  ['AN', 'Antarctica'],
  ['AS', 'Asia'],
  ['EU', 'Europe'],
  ['NA', 'North America'],
  ['OC', 'Oceania'],
  ['SA', 'South America'],
])
