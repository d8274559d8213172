import { existsSync, globSync, readFileSync } from 'node:fs'
import test from 'ava'
import { parseDocument } from 'yaml'

type Step = { uses?: string; run?: string; id?: string }
type Job = {
  if?: string
  needs?: string
  'timeout-minutes'?: number
  steps: Step[]
  strategy?: { matrix: { node: number[] } }
}
type Workflow = {
  on: Record<string, unknown>
  permissions?: Record<string, string>
  jobs: Record<string, Job>
}

const workflows = globSync('.github/workflows/*.yml').map((file) => {
  const document = parseDocument(readFileSync(file, 'utf8'), { uniqueKeys: true })
  return { file, problems: [...document.errors, ...document.warnings], workflow: document.toJS() as Workflow }
})
const jobs = workflows.flatMap(({ file, workflow }) =>
  Object.entries(workflow.jobs).map(([name, job]) => ({ name: `${file} ${name}`, job, jobs: workflow.jobs })),
)

test('workflows: each is valid YAML, and may only read unless a job says more', (t) => {
  t.deepEqual(workflows.map(({ file }) => file).sort(), [
    '.github/workflows/ci.yml',
    '.github/workflows/release.yml',
  ])
  for (const { file, problems, workflow } of workflows) {
    t.deepEqual(problems, [], file)
    t.deepEqual(workflow.permissions, { contents: 'read' }, file)
  }
})

test('workflows: a job ends in time, needs jobs that exist, and names the version of each action', (t) => {
  for (const { name, job, jobs: all } of jobs) {
    t.true(Number(job['timeout-minutes']) > 0, name)
    if (job.needs !== undefined) t.true(Object.hasOwn(all, job.needs), name)
    for (const { uses, run } of job.steps) {
      t.true((uses === undefined) !== (run === undefined), name)
      if (uses !== undefined) t.regex(uses, /^[\w-]+\/[\w-]+@v\d+$/, name)
      for (const [script] of run?.matchAll(/\.ci\/[\w-]+/g) ?? [])
        t.true(existsSync(script), `${name}: ${script}`)
    }
  }
})

test('workflows: the package is tried on the oldest Node that it supports, and on the next', (t) => {
  const { engines } = JSON.parse(readFileSync('package.json', 'utf8'))
  const oldest = Number(/^>=(\d+)/.exec(engines.node)?.[1])
  const tried = jobs.flatMap(({ job }) => job.strategy?.matrix.node ?? [])
  t.deepEqual(tried, [oldest, oldest + 2])
})

test('workflows: a release starts by hand, only where a maintainer switched it on', (t) => {
  const release = workflows.find(({ file }) => file.endsWith('release.yml'))!.workflow
  t.deepEqual(Object.keys(release.on), ['workflow_dispatch'])
  for (const { if: condition } of Object.values(release.jobs))
    t.regex(condition ?? '', /^vars\.RELEASES == 'on'/)
})
