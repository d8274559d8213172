const MODULES: Readonly<Record<string, string>> = {
  preact: 'preact',
  'preact/hooks': 'preact/hooks',
  htm: 'htm',
  // The package names only its CommonJS build.
  uplot: 'uplot/dist/uPlot.esm.js',
}

export const UPLOT_STYLE = 'libraries/uplot.css'

export const LIBRARY_FILES: ReadonlyMap<string, URL> = new Map([
  ...Object.entries(MODULES).map(([name, module]) => [pathOf(name), resolve(module)] as const),
  [UPLOT_STYLE, resolve('uplot/dist/uPlot.min.css')],
])

/** JSON, relative to the page (HTML standard, section 8.1.6.2). */
export const IMPORT_MAP = JSON.stringify({
  imports: Object.fromEntries(Object.keys(MODULES).map((name) => [name, `./assets/${pathOf(name)}`])),
})

export const isLibrary = (specifier: string): boolean => Object.hasOwn(MODULES, specifier)

function pathOf(name: string): string {
  return `libraries/${name.replace('/', '-')}.js`
}

function resolve(module: string): URL {
  return new URL(import.meta.resolve(module))
}
