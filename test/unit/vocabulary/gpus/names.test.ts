import test from 'ava'
import { shippedVocabulary } from '../../../../src/config/vocabulary.ts'
import { type GpuResource, readGpu } from '../../../../src/vocabulary/gpus/read-gpu.ts'
import { offers, spellings } from '../market/market.ts'

const table = shippedVocabulary().tables.gpus
const read = (resource: GpuResource) => readGpu(table, 'seller', resource)
const modelOf = (gpu_model: string): string | null => read({ gpu_model }).model

test('gpu names: every spelling of seven sellers reads as what it means', (t) => {
  t.is(spellings().length, 69)
  for (const { text, ...meaning } of spellings()) {
    const { model, variant, memoryGb } = read({ gpu_model: text })
    t.deepEqual({ model, variant, memoryGb }, meaning, text)
  }
})

test('gpu names: all 402 offers of GPUs are recognised, the six others name none', (t) => {
  const countOf = (isCounted: (reading: ReturnType<typeof read>) => boolean): number =>
    offers()
      .filter(({ model, count, memoryGb }) =>
        isCounted(read({ gpu_model: model, gpu_count: count, gpu_memory_gb: memoryGb })),
      )
      .reduce((sum, one) => sum + one.offers, 0)
  t.deepEqual([countOf(() => true), countOf(({ isGpu }) => isGpu)], [408, 402])
  t.is(
    countOf(({ model }) => model !== null),
    402,
  )
})

test('gpu names: what sellers measure is the data sheet value, where that is at most 15 % larger', (t) => {
  const meanings = new Map(spellings().map(({ text, memoryGb }) => [text, memoryGb]))
  const others = offers().filter(({ model, memoryGb }) => {
    const reading = read({ gpu_model: model, gpu_memory_gb: memoryGb })
    return model !== '' && !meanings.get(model)!.includes(reading.memoryGb[0]!)
  })
  t.deepEqual(
    others.map(({ model, memoryGb }) => [model, memoryGb]),
    [['RTX 4090', 48]],
  )
})

/** [text, model, variant, GB] */
const ELSEWHERE: [text: string, model: string, variant: string | null, memoryGb: number[]][] = [
  ['NVIDIA A100-SXM4-80GB', 'A100', 'SXM', [80]],
  ['NVIDIA-A100-PCIE-40GB', 'A100', 'PCIe', [40]],
  ['DGX A100 640GB', 'A100', null, [40, 80]],
  ['1x H100 PCIe', 'H100', 'PCIe', [80]],
  ['gpu_8x_h100_sxm5', 'H100', 'SXM', [80]],
  ['8xH100SXM5', 'H100', 'SXM', [80]],
  ['H100_PCIE_BAREMETAL', 'H100', 'PCIe', [80]],
  ['RTX5090_PCIE_BAREMETAL', 'RTX 5090', null, [32]],
  ['H200 SXM (bare metal, reserved)', 'H200', 'SXM', [141]],
  ['L4 VM on-demand', 'L4', null, [24]],
  ['A100 80GB dedicated node', 'A100', null, [80]],
  ['T4 spot instance', 'T4', null, [16]],
  ['h100-80gb-sxm-ib.8x', 'H100', 'SXM', [80]],
  ['nvidia-h100-mega-80gb', 'H100', null, [80]],
  ['nvidia/h100/80Gi/SXM5', 'H100', 'SXM', [80]],
  ['NVIDIA® H100™ Tensor Core GPU', 'H100', null, [80]],
  ['GH200 480GB', 'GH200', null, [96, 144]],
  ['NVIDIA GB200 NVL72', 'GB200', 'NVL72', [186, 192]],
  ['L40 S', 'L40S', null, [48]],
  ['Tesla V100-SXM2-32GB', 'V100', 'SXM', [32]],
  ['Tesla V100S-PCIE-32GB', 'V100S', null, [32]],
  ['Tesla P100-PCIE-16GB', 'P100', 'PCIe', [16]],
  ['geforcertx4090-pcie-24gb', 'RTX 4090', null, [24]],
  ['RTX 4090×8', 'RTX 4090', null, [24]],
  ['RTX 4080 S', 'RTX 4080 Super', null, [16]],
  ['NVIDIA RTX 6000 Ada Generation', 'RTX 6000 Ada', null, [48]],
  ['NVIDIA RTX 4000 SFF Ada Generation', 'RTX 4000 SFF Ada', null, [20]],
  ['rtxa6000-pcie-48gb', 'RTX A6000', null, [48]],
  ['RTX PRO 6000 Blackwell Server Edition', 'RTX PRO 6000', null, [96]],
  ['NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition', 'RTX PRO 6000', 'Max-Q', [96]],
  ['AMD Instinct MI300X OAM', 'MI300X', 'OAM', [192]],
  ['tpu-v5-lite-podslice', 'TPU v5e', null, [16]],
  ['Tenstorrent n300s', 'Wormhole n300', null, [24]],
]

test('gpu names: names of other sellers and drivers read as what they mean', (t) => {
  for (const [text, model, variant, memoryGb] of ELSEWHERE) {
    const { fp16Tflops: _, dataSheetGb: __, mayHaveVariant: ___, ...reading } = read({ gpu_model: text })
    t.deepEqual(reading, { isGpu: true, model, variant, memoryGb }, text)
  }
})

/** Names that are beside those of models, of slices of a GPU and instance types, other words, and two in one. */
const NOT_RECOGNISED = `RTX 4090 Laptop | NVIDIA GeForce RTX 4090 Laptop GPU | RTX 2080 Max-Q | RTX 6000 | RTX 5000
  | RTX A6000 Ada | A10-0 | A1 00 | A10 080GB | A100X | A100X 8 | A100D-80C | L40S-48Q | Gaudi | Titan X
  | a2-highgpu-1g | p4d.24xlarge | Standard_NC24ads_A100_v4 | g5.xlarge | NVIDIA A100 80GB PCIe MIG 1g.10gb
  | A100-1g.5gb | MIG H100 | Hopper big | AMD EPYC | AMD H100 | Intel A100 | Tenstorrent H100 | GPU | 80GB | 8x | -
  | Н100 | H100+ | H100\u200b | ١٠٠ | H100 H200 B200 | H100/H200 | A100 or H100 | A100 40GB/80GB | 4x 8x H100`

test('gpu names: a name beside that of a model, a slice of one, and two of anything are not recognised', (t) => {
  for (const text of NOT_RECOGNISED.split(/\s*\| /)) t.is(modelOf(text), null, text)
  t.is(modelOf('H100 (NVIDIA H100 PCIe)'), 'H100', 'the same model twice is one')
  t.is(read({ gpu_model: 'H100 SXM/PCIe' }).variant, null, 'two variants leave it open')
})
