import test from 'ava'
import fc from 'fast-check'
import { shippedVocabulary } from '../../../../src/config/vocabulary.ts'
import { readGpuValue, readVariantValue } from '../../../../src/vocabulary/gpus/read-gpu-value.ts'

const table = shippedVocabulary().tables.gpus

test('readGpuValue: every name of a model asks for it, in any case and with words of its vendor', (t) => {
  for (const { model, aliases } of table.models)
    for (const name of [model, ...aliases]) t.deepEqual(readGpuValue(table, name), { value: model }, name)
  t.deepEqual(readGpuValue(table, 'a6000'), { value: 'RTX A6000' })
  t.deepEqual(readGpuValue(table, 'nvidia-rtx6000-ada'), { value: 'RTX 6000 Ada' })
})

test('readGpuValue: a text that says more is refused with the parameters that say it', (t) => {
  const CASES: [text: string, near: object[]][] = [
    ['A100 80GB', [{ gpu: 'A100', gpu_memory_gb_min: '80' }]],
    ['H100 SXM', [{ gpu: 'H100', gpu_variant: 'SXM' }]],
    ['H100 NVL 94GB', [{ gpu: 'H100', gpu_variant: 'NVL', gpu_memory_gb_min: '94' }]],
    ['GH200 480GB', [{ gpu: 'GH200' }]],
    ['H100 HBM3', [{ gpu: 'H100' }]],
    ['A100-NVLink', [{ gpu: 'A100' }]],
    ['8x H100', [{ gpu: 'H100' }]],
  ]
  for (const [text, near] of CASES) t.deepEqual(readGpuValue(table, text), { near }, text)
})

test('readGpuValue: an unknown value is refused with models near it', (t) => {
  const CASES: [text: string, models: string[]][] = [
    ['H100 H200', ['H100', 'H200']],
    ['H100 Laptop', ['H100']],
    ['RTX 6000', ['RTX PRO 6000', 'RTX 6000 Ada', 'RTX A6000', 'Quadro RTX 6000']],
    ['Gaudi', ['Gaudi 3', 'Gaudi 2', 'Gaudi HL-205']],
    ['MI300', ['MI300X', 'MI300A']],
    ['RTX 4O90', ['RTX 4090']],
    ['something else', []],
    ['', []],
    ['GPU', []],
    ['x'.repeat(10_000), []],
  ]
  for (const [text, models] of CASES)
    t.deepEqual(readGpuValue(table, text), { near: models.map((gpu) => ({ gpu })) }, text)
})

test('readGpuValue: what it suggests can be asked', (t) => {
  const property = fc.property(fc.stringMatching(/^[a-z0-9 ]{0,12}$/), (text) => {
    const value = readGpuValue(table, text)
    if ('near' in value) {
      t.true(value.near.length <= 5)
      for (const { gpu } of value.near) t.deepEqual(readGpuValue(table, gpu), { value: gpu })
    }
  })
  t.notThrows(() => fc.assert(property))
})

test('readVariantValue: a variant of the table, in any case; anything else is refused with one near it', (t) => {
  t.deepEqual(readVariantValue(table, 'sxm'), { value: 'SXM' })
  t.deepEqual(readVariantValue(table, 'PCI-E'), { value: 'PCIe' })
  t.deepEqual(readVariantValue(table, 'max q'), { value: 'Max-Q' })
  t.deepEqual(readVariantValue(table, 'SXM5'), { near: [{ gpu_variant: 'SXM' }] })
  t.deepEqual(readVariantValue(table, 'H100 SXM'), { near: [{ gpu: 'H100', gpu_variant: 'SXM' }] })
  t.deepEqual(readVariantValue(table, 'PCIx'), { near: [{ gpu_variant: 'PCIe' }] })
  t.deepEqual(readVariantValue(table, 'toast'), { near: [] })
})
