import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'ava'
import { readGpuTable } from '../../../src/config/gpu-rows.ts'
import type { Violation } from '../../../src/errors.ts'
import type { GpuTable } from '../../../src/vocabulary/gpus/gpu-table.ts'
import { readGpu } from '../../../src/vocabulary/gpus/read-gpu.ts'

const folder = mkdtempSync(join(tmpdir(), 'entrepot-gpus-'))
test.after.always(() => rmSync(folder, { recursive: true }))

function read(toml: string): { table: GpuTable; problems: string[] } {
  const file = join(mkdtempSync(join(folder, 'case-')), 'my-gpus.toml')
  writeFileSync(file, toml)
  const problems: Violation[] = []
  const table = readGpuTable(file, problems)
  return { table, problems: problems.map(({ path, message }) => `${path.replace(file, 'FILE')}: ${message}`) }
}

test('gpu rows: the shipped file is good', (t) => {
  const problems: Violation[] = []
  const { models } = readGpuTable(null, problems)
  t.deepEqual(problems, [])
  for (const { model, vendor, memoryGb } of models) t.truthy(vendor && memoryGb.length, model)
})

test('gpu rows: rows of an operator add models and aliases, and replace variants of the same name', (t) => {
  const { table, problems } = read(`
[[gpus]]
model = "Zeta 1"
vendor = "Acme Labs"
memory_gb = [96, 64]
variants = [{ name = "PCIe", memory_gb = [64] }]

[[gpus]]
model = "h100"
aliases = ["Hopper big"]
variants = [{ name = "PCIe", fp16_tflops = 700 }, { name = "CNX" }]
`)
  t.deepEqual(problems, [])
  t.like(readGpu(table, 'a', { gpu_model: 'ZETA1' }), {
    model: 'Zeta 1',
    memoryGb: [64, 96],
    fp16Tflops: null,
  })
  t.is(readGpu(table, 'a', { gpu_model: 'ACME-Labs Zeta1' }).model, 'Zeta 1')
  t.is(readGpu(table, 'a', { gpu_model: 'Acme H100' }).model, null)
  t.like(readGpu(table, 'a', { gpu_model: 'Zeta 1 PCIe' }), { variant: 'PCIe', memoryGb: [64] })
  t.like(readGpu(table, 'a', { gpu_model: 'hopper-big' }), { model: 'H100', memoryGb: [80], fp16Tflops: 700 })
  const h100 = table.models.find(({ model }) => model === 'H100')
  t.deepEqual(
    h100?.variants.map(({ name, fp16Tflops }) => [name, fp16Tflops]),
    [
      ['SXM', null],
      ['NVL', 835],
      ['PCIe', 700],
      ['CNX', null],
    ],
  )
  t.deepEqual(h100?.aliases, ['H100 Mega', 'Hopper big'])
})

test('gpu rows: what a source means by a text wins over the rules, for what is behind it as well', (t) => {
  const { table, problems } = read(`
[[names]]
source = "eu"
text = "Hopper big, 94GB PCIe"
model = "H100"

[[names]]
source = "eu/curated"
text = "A100"
model = "A800"
`)
  t.deepEqual(problems, [])
  const model = (source: string, gpu_model: string) => readGpu(table, source, { gpu_model }).model
  for (const source of ['eu', 'eu/curated', 'eu/other/one'])
    t.like(readGpu(table, source, { gpu_model: 'Hopper big, 94GB PCIe' }), {
      model: 'H100',
      variant: 'PCIe',
      memoryGb: [94],
    })
  t.is(model('europe', 'Hopper big, 94GB PCIe'), null)
  t.is(model('eu', 'hopper big, 94GB PCIe'), null, 'the text is exact')
  t.is(model('eu/curated', 'A100'), 'A800')
  t.is(model('eu/curated/deep', 'A100'), 'A800')
  t.is(model('eu', 'A100'), 'A100')
})

const gpu = (text: string): string => `[[gpus]]\n${text}\n`

const BAD: [name: string, toml: string, ...problems: (string | RegExp)[]][] = [
  ['broken TOML', '[[gpus]\n', /^FILE: not TOML: .*\(line 1, column \d+\)$/],
  ['another table', '[[gpu]]\nmodel = "Zeta 1"', 'FILE:1: gpu: unknown setting; did you mean gpus?'],
  ['no list', 'gpus = 1', 'FILE:1: gpus: expected tables that begin with [[gpus]]'],
  [
    'a row without a model',
    gpu('vendor = "A"'),
    'FILE:1: gpus[0].model: expected a text of 1 to 64 characters',
  ],
  [
    'an unknown member',
    gpu('model = "Zeta 1"\nmemory = [80]'),
    'FILE:3: gpus[0].memory: unknown setting; did you mean memory_gb?',
  ],
  [
    'memory that is no list',
    gpu('model = "Zeta 1"\nmemory_gb = 80'),
    'FILE:3: gpus[0].memory_gb: expected a list of at most 20 numbers',
  ],
  [
    'negative memory',
    gpu('model = "Zeta 1"\nmemory_gb = [80, -1]'),
    'FILE:3: gpus[0].memory_gb[1]: expected a number above 0, at most 4096',
  ],
  [
    'TFLOPS as a text',
    gpu('model = "Zeta 1"\nfp16_tflops = "989"'),
    'FILE:3: gpus[0].fp16_tflops: expected a number above 0, at most 1000000',
  ],
  [
    'a variant that is a text',
    gpu('model = "Zeta 1"\nvariants = ["SXM"]'),
    'FILE:3: gpus[0].variants[0]: expected a table such as { name = "SXM" }',
  ],
  [
    'memory as a variant',
    gpu('model = "Zeta 1"\nvariants = [{ name = "80GB" }]'),
    'FILE:3: gpus[0].variants[0].name: expected a form such as SXM or PCIe; the memory of a variant is its memory_gb',
  ],
  [
    'a variant twice',
    gpu('model = "Zeta 1"\nvariants = [{ name = "SXM" }, { name = "sxm5" }]'),
    "FILE:3: gpus[0].variants[1].name: two variants are named 'sxm5'; join them",
  ],
  [
    'a model twice',
    gpu('model = "Zeta 1"') + gpu('model = "zeta-1"'),
    "FILE:4: gpus[1].model: 'Zeta 1' has two rows; join them",
  ],
  [
    'an alias as a model',
    gpu('model = "A6000"'),
    `FILE:2: gpus[0].model: 'A6000' is an alias of RTX A6000; write model = "RTX A6000"`,
  ],
  [
    'an alias that is a model',
    gpu('model = "Zeta 1"\naliases = ["Y1", "H200"]'),
    "FILE:3: gpus[0].aliases[1]: 'H200' is a name of H200, too; remove one of them",
  ],
  [
    'an alias of two models',
    gpu('model = "Zeta 1"\naliases = ["Z 9"]') + gpu('model = "Zeta 2"\naliases = ["z9"]'),
    "FILE:6: gpus[1].aliases[0]: 'z9' is a name of Zeta 1, too; remove one of them",
  ],
  [
    'an alias that reads as another model',
    gpu('model = "Zeta 1"\naliases = ["NVIDIA H100 SXM5 80GB"]'),
    "FILE:3: gpus[0].aliases[0]: 'NVIDIA H100 SXM5 80GB' reads as H100 by its parts; choose another name",
  ],
  [
    'an alias without a word of its own',
    gpu('model = "Zeta 1"\naliases = ["NVIDIA GPU", "80GB"]'),
    "FILE:3: gpus[0].aliases[0]: 'NVIDIA GPU' has only words that every name may have; choose another name",
    "FILE:3: gpus[0].aliases[1]: '80GB' has only words that every name may have; choose another name",
  ],
  [
    'an alias that cannot be read',
    gpu('model = "Zeta 1"\naliases = ["显卡"]'),
    /^FILE:3: gpus\[0\]\.aliases\[0\]: expected letters A-Z and digits, .*; \[\[names\]\] takes every text$/,
  ],
  [
    'an alias of many words',
    gpu('model = "Zeta 1"\naliases = ["a b c d e f g h i j k l m"]'),
    'FILE:3: gpus[0].aliases[0]: expected at most 12 words and numbers',
  ],
  [
    'a name of no model',
    '[[names]]\nsource = "eu"\ntext = "x"\nmodel = "H10"',
    "FILE:4: names[0].model: no model is named 'H10'; did you mean H100?",
  ],
  [
    'a name twice',
    '[[names]]\nsource = "eu"\ntext = "x"\nmodel = "H100"\n'.repeat(2),
    "FILE:5: names[1]: 'x' of source eu has two rows; remove one",
  ],
  [
    'an empty row',
    '[[names]]',
    'FILE:1: names[0].source: expected a text of 1 to 200 characters',
    'FILE:1: names[0].text: expected a text of 1 to 200 characters',
    'FILE:1: names[0].model: expected a text of 1 to 64 characters',
  ],
]

for (const [name, toml, ...expected] of BAD)
  test(`gpu rows: ${name} is a problem with its line`, (t) => {
    const { problems } = read(toml)
    t.is(problems.length, expected.length, problems.join('\n'))
    for (const [n, one] of expected.entries())
      if (typeof one === 'string') t.is(problems[n], one)
      else t.regex(problems[n]!, one)
  })

test('gpu rows: a file has at most 2000 rows of a kind, and must exist', (t) => {
  const rows = Array.from({ length: 2001 }, (_, n) => gpu(`model = "Zeta ${n}"`)).join('')
  t.deepEqual(read(rows).problems, ['FILE:1: gpus: at most 2000 rows; remove some'])
  const problems: Violation[] = []
  t.is(readGpuTable(join(folder, 'none.toml'), problems).models.length, readGpuTable(null, []).models.length)
  t.deepEqual(problems, [{ path: join(folder, 'none.toml'), message: 'cannot be read: no such file' }])
})
