import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import test from 'ava'
import { generate } from 'openapi-typescript-codegen'
import { startFake, startGateway } from '../../helpers/gateway.ts'
import { startRegistry } from '../../helpers/registry.ts'
import { temporaryFolder } from '../../helpers/run-cli.ts'
import { ALICE, publish } from '../../helpers/seller.ts'

const ROOT = join(import.meta.dirname, '../../..')
const COMPILER = join(ROOT, 'node_modules/.bin/tsc')

/** The generated folders are beside the programs. */
const HERE = '.'

const PROGRAM = `
import { ApiError, OpenAPI, type Problem, ReadService } from '${HERE}/machines'

export async function read(base: string) {
  OpenAPI.BASE = base
  const { items, complete } = await ReadService.getListings({ gpuModel: 'H200' })
  const model: string | undefined = items[0]?.offer_resource?.gpu_model
  // @ts-expect-error: it is a text
  const count: number | undefined = items[0]?.offer_resource?.gpu_model
  const problem = await ReadService.getListings({ gpuCountMin: 'many' }).catch((error: ApiError): Problem => error.body)
  return { model, complete, type: 'type' in problem ? problem.type : null, count }
}
`

/** The members of the client's types are those of the listing shapes, each of a type that holds the shape's. */
const TYPES = `
import type { ApiCredits, Escrow, GpuMachine } from '${ROOT}/src/client/listing.ts'
import type { ListingShape as Credits } from '${HERE}/credits/models/ListingShape'
import type { ListingShape as Machine } from '${HERE}/machines/models/ListingShape'

type SameKeys<A, B> = keyof A | keyof B extends keyof A & keyof B ? true : never

export const machine: GpuMachine = {} as Required<Machine['offer_resource']>
export const machineKeys: SameKeys<GpuMachine, Machine['offer_resource']> = true
export const credits: ApiCredits = {} as Required<Credits['offer_resource']>
export const creditsKeys: SameKeys<ApiCredits, Credits['offer_resource']> = true
export const escrow: Escrow = {} as Machine['accepted_escrows'][number]
export const escrowKeys: SameKeys<Escrow, Credits['accepted_escrows'][number]> = true
`

test('generated client: compiles, is typed by the listing shape, and reads a gateway', async (t) => {
  const folder = temporaryFolder(t)
  const registry = await startRegistry(t, {
    environment: { REGISTRY_FILTER_SPEC_PATH: 'config/filter-spec.apicredits.yaml' },
  })
  const gateway = await startGateway(t, [{ name: 'a', url: (await startFake(t)).url }])
  await publish(gateway.url, ALICE, { listing_id: 'one', offer_resource: { gpu_model: 'H200' } })
  for (const [name, { get }] of Object.entries({ credits: registry, machines: gateway })) {
    const input = (await get('/openapi.json')).json()
    await generate({ input, output: join(folder, name), useUnionTypes: true, useOptions: true })
  }
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  const configure = (name: string, file: string, options: object) =>
    write(name, JSON.stringify({ files: [file], compilerOptions: { strict: true, ...options } }))
  write('program.ts', PROGRAM)
  write('types.ts', TYPES)
  write('package.json', '{"type":"commonjs"}')
  configure('tsconfig.json', 'program.ts', {
    target: 'esnext',
    lib: ['esnext', 'dom'],
    types: [],
    module: 'commonjs',
    moduleResolution: 'bundler',
    rootDir: '.',
    outDir: 'out',
  })
  configure('tsconfig.types.json', 'types.ts', {
    noEmit: true,
    allowImportingTsExtensions: true,
    module: 'preserve',
    typeRoots: [join(ROOT, 'node_modules/@types')],
    types: ['node'],
  })
  mkdirSync(join(folder, 'out'))
  for (const config of ['tsconfig.json', 'tsconfig.types.json'])
    await t.notThrowsAsync(promisify(execFile)(COMPILER, ['-p', join(folder, config)]))
  const { read } = createRequire(import.meta.url)(join(folder, 'out/program.js'))
  t.like(await read(gateway.url), {
    model: 'H200',
    complete: true,
    type: 'urn:entrepot:problem:bad_request',
  })
})
