import type { JsonObject } from '../json/value.ts'
import type { RecordDetails } from './details.ts'
import { notStarted } from './lifecycle.ts'
import { counted, countOf, joined, type StorefrontView, textOf } from './observation.ts'
import type { Quantity, Step } from './record.ts'

/** Listings of virtual machines: docs/protocol.md#8-domains. */
export const virtualMachineDetails: RecordDetails = (_listing, offer, storefront) => ({
  schema: 'arkhai.compute.virtual-machine@1.0.0',
  location: textOf(offer.region),
  quantity: gpuQuantity(offer),
  delivery: {
    modality: 'SSH lease',
    capacity: capacity(storefront),
    fulfillment: notStarted('no machine provisioned'),
    credential: notStarted('no SSH access granted'),
    service: notStarted('no lease running'),
  },
  resource: {
    hardware: joined([
      gpuQuantity(offer)?.display ?? textOf(offer.gpu_model),
      textOf(offer.gpu_interconnect),
      textOf(offer.cpu_type),
      textOf(offer.motherboard),
      textOf(offer.host_disk_type),
    ]),
    compute: joined([counted(offer.vcpu_count, 'vCPU'), textOf(offer.virtualization_type)]),
    memory: joined([counted(offer.ram_gb, 'GB RAM'), counted(offer.disk_gb, 'GB disk')]),
    network: joined([
      counted(offer.internet_download_mbps, 'Mbit/s down'),
      counted(offer.internet_upload_mbps, 'Mbit/s up'),
      counted(offer.nic_speed_gbps, 'Gbit/s NIC'),
      offer.static_ip === true ? 'static IP' : null,
      counted(offer.open_ports_count, 'open ports'),
    ]),
    access: 'SSH',
  },
})

function gpuQuantity({ gpu_count, gpu_model }: JsonObject): Quantity | null {
  const decimal = countOf(gpu_count)
  if (decimal === null) return null
  return { decimal, unit: 'gpu', display: `${decimal} × ${textOf(gpu_model) ?? 'GPU'}` }
}

/** The seller's own count, which storefronts may leave out. */
function capacity({ status }: StorefrontView): Step {
  const count = countOf(status?.resource_count)
  if (count === null || count === '0') return notStarted('no capacity shown by the storefront')
  return { status: 'complete', label: `${count} resources registered at the storefront` }
}
