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

const zeta = (more: string): string => gpu(`model = "Zeta 1"\n${more}`)
const NAME = '[[names]]\nsource = "eu"\ntext = "x"\n'

/** What is wrong with a file, with the line of each problem. */
const BAD: Readonly<Record<string, string[]>> = {
  '[[gpu]]\nmodel = "Zeta 1"': ['1: gpu: unknown setting; did you mean gpus?'],
  'gpus = 1': ['1: gpus: expected tables that begin with [[gpus]]'],
  [gpu('vendor = "A"')]: ['1: gpus[0].model: expected a text of 1 to 64 characters'],
  [zeta('memory = [80]')]: ['3: gpus[0].memory: unknown setting; did you mean memory_gb?'],
  [zeta('memory_gb = 80')]: ['3: gpus[0].memory_gb: expected a list of at most 20 numbers'],
  [zeta('memory_gb = [80, -1]')]: ['3: gpus[0].memory_gb[1]: expected a number above 0, at most 4096'],
  [zeta('fp16_tflops = "989"')]: ['3: gpus[0].fp16_tflops: expected a number above 0, at most 1000000'],
  [zeta('variants = ["SXM"]')]: ['3: gpus[0].variants[0]: expected a table such as { name = "SXM" }'],
  [zeta('variants = [{ name = "80GB" }]')]: [
    '3: gpus[0].variants[0].name: expected a form such as SXM or PCIe; the memory of a variant is its memory_gb',
  ],
  [zeta('variants = [{ name = "SXM" }, { name = "sxm5" }]')]: [
    "3: gpus[0].variants[1].name: two variants are named 'sxm5'; join them",
  ],
  [zeta('') + gpu('model = "zeta-1"')]: ["5: gpus[1].model: 'Zeta 1' has two rows; join them"],
  [gpu('model = "A6000"')]: [`2: gpus[0].model: 'A6000' is an alias of RTX A6000; write model = "RTX A6000"`],
  [zeta('aliases = ["Y1", "H200"]')]: [
    "3: gpus[0].aliases[1]: 'H200' is a name of H200, too; remove one of them",
  ],
  [zeta('aliases = ["Z 9"]') + gpu('model = "Zeta 2"\naliases = ["z9"]')]: [
    "6: gpus[1].aliases[0]: 'z9' is a name of Zeta 1, too; remove one of them",
  ],
  [zeta('aliases = ["NVIDIA H100 SXM5 80GB"]')]: [
    "3: gpus[0].aliases[0]: 'NVIDIA H100 SXM5 80GB' reads as H100 by its parts; choose another name",
  ],
  [zeta('aliases = ["NVIDIA GPU", "80GB"]')]: [
    "3: gpus[0].aliases[0]: 'NVIDIA GPU' has only words that every name may have; choose another name",
    "3: gpus[0].aliases[1]: '80GB' has only words that every name may have; choose another name",
  ],
  [zeta('aliases = ["显卡"]')]: [
    '3: gpus[0].aliases[0]: expected letters A-Z and digits, with spaces or any of - _ / . , ( ) between them; [[names]] takes every text',
  ],
  [zeta('aliases = ["a b c d e f g h i j k l m"]')]: [
    '3: gpus[0].aliases[0]: expected at most 12 words and numbers',
  ],
  [`${NAME}model = "H10"`]: ["4: names[0].model: no model is named 'H10'; did you mean H100?"],
  [`${NAME}model = "H100"\n`.repeat(2)]: ["5: names[1]: 'x' of source eu has two rows; remove one"],
  '[[names]]': [
    '1: names[0].source: expected a text of 1 to 200 characters',
    '1: names[0].text: expected a text of 1 to 200 characters',
    '1: names[0].model: expected a text of 1 to 64 characters',
  ],
}

test('gpu rows: what is wrong is a problem with its line', (t) => {
  for (const [toml, problems] of Object.entries(BAD))
    t.deepEqual(
      read(toml).problems,
      problems.map((problem) => `FILE:${problem}`),
      toml,
    )
  t.regex(read('[[gpus]\n').problems.join(), /^FILE: not TOML: .*\(line 1, column \d+\)$/)
})

test('gpu rows: a file has at most 2000 rows of a kind, and must exist', (t) => {
  const rows = Array.from({ length: 2001 }, (_, n) => gpu(`model = "Zeta ${n}"`)).join('')
  t.deepEqual(read(rows).problems, ['FILE:1: gpus: at most 2000 rows; remove some'])
  const problems: Violation[] = []
  t.is(readGpuTable(join(folder, 'none.toml'), problems).models.length, readGpuTable(null, []).models.length)
  t.deepEqual(problems, [{ path: join(folder, 'none.toml'), message: 'cannot be read: no such file' }])
})
