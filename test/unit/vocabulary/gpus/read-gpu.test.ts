import test from 'ava'
import fc from 'fast-check'
import { shippedVocabulary } from '../../../../src/config/vocabulary.ts'
import { type GpuResource, readGpu } from '../../../../src/vocabulary/gpus/read-gpu.ts'
import { anyText } from '../../../helpers/any-text.ts'
import { runs } from '../../../helpers/runs.ts'

const table = shippedVocabulary().tables.gpus
const read = (resource: GpuResource) => readGpu(table, 'seller', resource)
const NO_GPU = {
  isGpu: false,
  model: null,
  variant: null,
  mayHaveVariant: false,
  memoryGb: [],
  dataSheetGb: null,
  fp16Tflops: null,
}
const UNKNOWN = { ...NO_GPU, isGpu: true, mayHaveVariant: true }

test('readGpu: a listing without a model and without a count of 1 or more names no GPU', (t) => {
  for (const resource of [
    {},
    { gpu_model: null },
    { gpu_model: ' ' },
    { gpu_count: 0 },
    { gpu_model: '', gpu_count: 0, gpu_memory_gb: 80 },
    { gpu_model: 'none', gpu_count: 0 },
    { gpu_count: '4' },
  ])
    t.deepEqual(read(resource), NO_GPU, JSON.stringify(resource))
})

test('readGpu: a GPU that is not recognised has the memory that was measured', (t) => {
  for (const gpu_count of [1, 2n ** 70n]) t.deepEqual(read({ gpu_count }), UNKNOWN)
  for (const gpu_model of ['Hopper big', ['H100'], 4090]) t.deepEqual(read({ gpu_model }), UNKNOWN)
  t.deepEqual(read({ gpu_model: 'Hopper big', gpu_memory_gb: 79 }), { ...UNKNOWN, memoryGb: [79] })
})

test('readGpu: a count in the name must be the count of the listing', (t) => {
  for (const gpu_count of [8, 8n, undefined]) t.is(read({ gpu_model: '8x H100', gpu_count }).model, 'H100')
  t.is(read({ gpu_model: '8x H100', gpu_count: 1 }).model, null)
  for (const text of ['H100x8', 'H100 x 8', '8 x H100', 'H100 SXM5x8', 'H100 80GBx8'])
    t.is(read({ gpu_model: text, gpu_count: 8 }).model, 'H100', text)
})

test('readGpu: memory is the one measured, then the one of the name, then that of the variant or the model', (t) => {
  const CASES: [model: string, measured: unknown, memoryGb: number[]][] = [
    ['L40S', 45, [48]],
    ['B300', 262, [288]],
    ['B300', 250, [250]],
    ['RTX 4090', 48, [48]],
    ['A100 80GB', 39.4, [40]],
    ['H100', 93, [94]],
    ['H100 SXM', 93, [93]],
    ['A100', 1e9, [40, 80]],
    ['A100', -1, [40, 80]],
    ['A100', '80', [40, 80]],
    ['A100-80GB', null, [80]],
    ['A100 20GB', null, [20]],
    ['A100 60GB', null, [40, 80]],
    ['A100 640GB', null, [40, 80]],
    ['H100 94GB', null, [94]],
    ['H100 NVL', null, [94]],
    ['H100', null, [80]],
  ]
  for (const [gpu_model, gpu_memory_gb, memoryGb] of CASES)
    t.deepEqual(read({ gpu_model, gpu_memory_gb }).memoryGb, memoryGb, `${gpu_model}, ${gpu_memory_gb}`)
})

test('readGpu: memory to divide a price by is what the tables have, whatever a seller measured', (t) => {
  const CASES: [model: string, measured: unknown, gb: number | null][] = [
    ['H100 SXM', undefined, 80],
    ['A100', undefined, 40],
    ['A100', 79.6, 80],
    ['L40S', 45, 48],
    ['B300', 250, null],
    ['H100', 1e-9, null],
    ['H100', 4096, null],
    ['Hopper big', 80, null],
  ]
  for (const [gpu_model, gpu_memory_gb, gb] of CASES)
    t.is(read({ gpu_model, gpu_memory_gb }).dataSheetGb, gb, `${gpu_model}, ${gpu_memory_gb}`)
})

test('readGpu: TFLOPS are those of the variant, or the least of those that the name leaves open', (t) => {
  const named = {
    'H100 SXM': 989,
    'H100 PCIe': 756,
    'H100 NVL': 835,
    H100: 756,
    'H100 94GB': 835,
    'A100 SXM4': 312,
  }
  for (const [gpu_model, fp16Tflops] of Object.entries({
    ...named,
    A100: 312,
    V100: 112,
    'RTX 4090': 165.2,
    P40: null,
  }))
    t.is(read({ gpu_model }).fp16Tflops, fp16Tflops, gpu_model)
  t.is(read({ gpu_model: 'H100', gpu_memory_gb: 64 }).fp16Tflops, 756)
})

test('readGpu: any JSON value is read, and the reading has the form of one', (t) => {
  const models = new Set(table.models.map(({ model }) => model))
  const value = fc.oneof(fc.jsonValue(), anyText(), fc.double(), fc.bigInt())
  const property = fc.property(value, value, value, (gpu_model, gpu_count, gpu_memory_gb) => {
    const { isGpu, model, variant, memoryGb, fp16Tflops } = read({ gpu_model, gpu_count, gpu_memory_gb })
    t.true(model === null || (isGpu && models.has(model)))
    t.true(model !== null || (variant === null && fp16Tflops === null))
    t.true(isGpu || memoryGb.length === 0)
    t.true(memoryGb.every((gb, n) => gb > (memoryGb[n - 1] ?? 0) && gb <= 4096))
  })
  t.notThrows(() => fc.assert(property, { numRuns: runs(1000) }))
})
