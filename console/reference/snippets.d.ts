/** A snippet in the form of `x-codeSamples`. */
export interface Snippet {
  lang: string;
  label: string;
  source: string;
}

export function snippetsOf(of: {
  method: string;
  path: string;
  operation: object;
  components: object;
  origin: string;
}): Snippet[];
