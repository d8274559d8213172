/** As deployed: `&` alone separates, bare names have an empty value, bad UTF-8 is U+FFFD. Never throws. */
export const decodeQuery = (queryString: string): [name: string, value: string][] => [
  // URLSearchParams would drop a leading `?`, which belongs to the first name.
  ...new URLSearchParams(`&${queryString}`),
]
