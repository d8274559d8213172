import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import test from 'ava'
import { validate } from 'dockerfile-utils'
import { readEnvironment } from '../../../src/config/settings.ts'
import { DOCKERFILE, readStages, wordsOf } from './dockerfile.ts'

const text = readFileSync(DOCKERFILE, 'utf8')
const problems = (dockerfile: string): string[] => validate(dockerfile).map(({ message }) => String(message))
const stages = readStages()
const runtime = stages.get('runtime')!

/** Whether the builder gets a file: `.dockerignore` excludes everything, and includes some names of the root. */
const letIn = readFileSync('.dockerignore', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('!'))
  .map((line) => line.slice(1))
const reachesBuilder = (path: string): boolean =>
  letIn.some((pattern) => globSync(pattern).includes(path.replace(/^\.\//, '')))

test('Dockerfile: the linter finds nothing, and a wrong instruction', (t) => {
  t.deepEqual(problems(text), [])
  t.deepEqual(problems(text.replace('WORKDIR /app', 'WORKDER /app')), ['Unknown instruction: WORKDER'])
})

test('Dockerfile: every stage uses the runtime that package.json pins', (t) => {
  const { devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  t.true(text.includes(`\nARG NODE_IMAGE=node:${devDependencies.node}-bookworm-slim\n`))
  for (const [name, [from]] of stages) t.is(from?.text, `\${NODE_IMAGE} AS ${name}`)
})

test('Dockerfile: the default stage is an unprivileged gateway with a health check', (t) => {
  t.is([...stages.keys()].at(-1), 'runtime')
  for (const name of ['runtime', 'seed'])
    t.is(stages.get(name)!.findLast((instruction) => instruction.name === 'USER')?.text, '1000:1000')
  const names = runtime.map(({ name }) => name)
  t.regex(runtime.find(({ name }) => name === 'HEALTHCHECK')!.text, /\/ready'/)
  // Instructions after USER cannot write to the root; those before must not leave it writable.
  t.true(names.lastIndexOf('RUN') < names.indexOf('USER'))
})

test('Dockerfile: the default store is in a volume, which the documents name', (t) => {
  const { storeUrl } = readEnvironment({}, [])
  const folder = join('/app', dirname(storeUrl.slice('sqlite:'.length)))
  t.deepEqual(wordsOf(runtime, 'VOLUME'), [folder])
  // A volume takes the owner that its folder has when it is declared.
  const names = runtime.map(({ name }) => name)
  t.true(names.lastIndexOf('RUN') < names.indexOf('VOLUME'))
  for (const document of ['README.md', 'docs/operations.md'])
    t.true(readFileSync(document, 'utf8').includes(`--volume market:${folder} `), document)
})

test('Dockerfile: every copied file exists and reaches the builder', (t) => {
  const copied = [...stages.values()]
    .flat()
    .filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from'))
    .flatMap(({ text }) => text.split(' ').slice(0, -1))
  t.true(copied.length > 8)
  for (const source of copied) {
    const found = globSync(source)
    t.not(found.length, 0, source)
    t.deepEqual(
      found.filter((path) => !reachesBuilder(path)),
      [],
      source,
    )
  }
})

test('Dockerfile: build inputs are copied first, and no secret reaches the builder', (t) => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'))
  for (const [, project] of scripts.build.matchAll(/tsc -p (\S+)/g)) t.true(reachesBuilder(project), project)
  for (const path of ['deploy', 'data', '.env', '.git', 'node_modules', 'dist', 'test'])
    t.false(reachesBuilder(path), path)
})
