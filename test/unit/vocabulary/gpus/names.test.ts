import test from 'ava'
import { readGpuTable } from '../../../../src/config/gpu-rows.ts'
import { type GpuResource, readGpu } from '../../../../src/vocabulary/gpus/read-gpu.ts'
import { offers, spellings } from '../market/market.ts'

const table = readGpuTable(null, [])
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
  const readings = offers().map(({ model, count, memoryGb }) =>
    read({ gpu_model: model, gpu_count: count, gpu_memory_gb: memoryGb }),
  )
  t.is(readings.filter(({ isGpu }) => isGpu).length, 402)
  t.is(readings.filter(({ model }) => model !== null).length, 402)
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
  ['NVIDIA A100 80GB PCIe', 'A100', 'PCIe', [80]],
  ['NVIDIA-A100-PCIE-40GB', 'A100', 'PCIe', [40]],
  ['nvidia-tesla-a100', 'A100', null, [40, 80]],
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
  ['K80', 'K80', null, [24]],
  ['Tesla K40', 'K40', null, [12]],
  ['TeslaM60', 'M60', null, [16]],
  ['h100-80gb-sxm-ib.8x', 'H100', 'SXM', [80]],
  ['nvidia-h100-mega-80gb', 'H100', null, [80]],
  ['nvidia/h100/80Gi/SXM5', 'H100', 'SXM', [80]],
  ['H100 NVL 94GB', 'H100', 'NVL', [94]],
  ['NVIDIA® H100™ Tensor Core GPU', 'H100', null, [80]],
  ['GH200 480GB', 'GH200', null, [96, 144]],
  ['NVIDIA GB200 NVL72', 'GB200', 'NVL72', [186, 192]],
  ['nvidia-h200-141gb', 'H200', null, [141]],
  ['NVIDIA L40S', 'L40S', null, [48]],
  ['L40 S', 'L40S', null, [48]],
  ['A10G', 'A10G', null, [24]],
  ['Tesla T4', 'T4', null, [16]],
  ['nvidia-tesla-t4', 'T4', null, [16]],
  ['Tesla V100-SXM2-32GB', 'V100', 'SXM', [32]],
  ['Tesla V100S-PCIE-32GB', 'V100S', null, [32]],
  ['Tesla P100-PCIE-16GB', 'P100', 'PCIe', [16]],
  ['NVIDIA GeForce RTX 4090', 'RTX 4090', null, [24]],
  ['geforcertx4090-pcie-24gb', 'RTX 4090', null, [24]],
  ['RTX 4090×8', 'RTX 4090', null, [24]],
  ['RTX 4090 D', 'RTX 4090 D', null, [24]],
  ['RTX 4080 S', 'RTX 4080 Super', null, [16]],
  ['RTX4070TiSuper', 'RTX 4070 Ti Super', null, [16]],
  ['GTX 1080 Ti', 'GTX 1080 Ti', null, [11]],
  ['NVIDIA RTX 6000 Ada Generation', 'RTX 6000 Ada', null, [48]],
  ['NVIDIA RTX 4000 SFF Ada Generation', 'RTX 4000 SFF Ada', null, [20]],
  ['rtxa6000-pcie-48gb', 'RTX A6000', null, [48]],
  ['Quadro RTX A6000', 'RTX A6000', null, [48]],
  ['Quadro RTX 6000', 'Quadro RTX 6000', null, [24]],
  ['NVIDIA Quadro RTX 8000', 'Quadro RTX 8000', null, [48]],
  ['RTX PRO 6000 Blackwell Server Edition', 'RTX PRO 6000', null, [96]],
  ['NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition', 'RTX PRO 6000', 'Max-Q', [96]],
  ['MI300X', 'MI300X', null, [192]],
  ['AMD Instinct MI300X OAM', 'MI300X', 'OAM', [192]],
  ['Instinct MI250X', 'MI250X', null, [128]],
  ['Gaudi 2', 'Gaudi 2', null, [96]],
  ['Intel Gaudi3', 'Gaudi 3', null, [128]],
  ['TPU v5e', 'TPU v5e', null, [16]],
  ['tpu-v5-lite-podslice', 'TPU v5e', null, [16]],
  ['Google Cloud TPU v6e', 'TPU v6e', null, [32]],
  ['Tenstorrent n300s', 'Wormhole n300', null, [24]],
]

test('gpu names: names of other sellers and drivers read as what they mean', (t) => {
  for (const [text, model, variant, memoryGb] of ELSEWHERE) {
    const { fp16Tflops: _, dataSheetGb: __, mayHaveVariant: ___, ...reading } = read({ gpu_model: text })
    t.deepEqual(reading, { isGpu: true, model, variant, memoryGb }, text)
  }
})

test('gpu names: a name beside that of a model is not the model', (t) => {
  const NOT: [text: string, model: string | null][] = [
    ['RTX 3060 Ti', 'RTX 3060 Ti'],
    ['A10G', 'A10G'],
    ['GB200', 'GB200'],
    ['GH200', 'GH200'],
    ['A800', 'A800'],
    ['V100S', 'V100S'],
    ['RTX 4090 D', 'RTX 4090 D'],
    ['RTX 4090 Laptop', null],
    ['NVIDIA GeForce RTX 4090 Laptop GPU', null],
    ['RTX 2080 Max-Q', null],
    ['RTX 6000', null],
    ['RTX 5000', null],
    ['RTX A6000 Ada', null],
    ['A10-0', null],
    ['A1 00', null],
    ['A10 080GB', null],
    ['A100X', null],
    ['A100X 8', null],
    ['A100D-80C', null],
    ['L40S-48Q', null],
    ['Gaudi', null],
    ['Titan X', null],
  ]
  for (const [text, model] of NOT) t.is(modelOf(text), model, text)
})

test('gpu names: slices of a GPU, instance types and other words are not recognised', (t) => {
  for (const text of [
    'a2-highgpu-1g',
    'p4d.24xlarge',
    'Standard_NC24ads_A100_v4',
    'g5.xlarge',
    'NVIDIA A100 80GB PCIe MIG 1g.10gb',
    'A100-1g.5gb',
    'MIG H100',
    'Hopper big',
    'AMD EPYC',
    'AMD H100',
    'Intel A100',
    'Tenstorrent H100',
    'GPU',
    '80GB',
    '8x',
    '-',
    'Н100',
    'H100+',
    'H100\u200b',
    '١٠٠',
  ])
    t.is(modelOf(text), null, text)
})

test('gpu names: two models, two amounts of memory or two counts are not recognised', (t) => {
  for (const text of [
    'H100 H200 B200',
    'H100/H200',
    'A100 or H100',
    'RTX 4090, RTX 3090',
    'A100 40GB/80GB',
    '4x 8x H100',
  ])
    t.is(modelOf(text), null, text)
  t.is(modelOf('H100 (NVIDIA H100 PCIe)'), 'H100', 'the same model twice is one')
  t.is(read({ gpu_model: 'H100 SXM/PCIe' }).variant, null, 'two variants leave it open')
})
