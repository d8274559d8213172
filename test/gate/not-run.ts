import { globSync } from 'node:fs'
import { isQuick } from './groups.ts'

const left = globSync('test/**/*.test.ts').filter((file) => !isQuick(file)).length
process.stdout.write(
  `Not run: ${left} files of tests, which need Redis, Chromium, nginx or many processes, and four of five cases of each\n` +
    'property. npm run test:all runs everything.\n',
)
