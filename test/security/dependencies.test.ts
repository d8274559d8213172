import { readFileSync } from 'node:fs'
import test from 'ava'

type Package = { integrity?: string; link?: boolean; hasInstallScript?: boolean; dev?: boolean }

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Package>
}
const installed = Object.entries(packages).filter(([path]) => path !== '')
const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8'))

test('dependencies: every package is pinned by a digest', (t) => {
  t.true(installed.length > 100)
  t.deepEqual(
    installed.filter(([, { integrity }]) => !integrity?.startsWith('sha512-')).map(([path]) => path),
    [],
  )
})

test('dependencies: only the runtime package has an install script', (t) => {
  const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript)
  t.deepEqual(
    scripted.map(([path]) => path),
    ['node_modules/node'],
  )
  t.deepEqual(allowScripts, { node: true })
  t.true(scripted.every(([, { dev }]) => dev))
})
