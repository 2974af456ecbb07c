/** Instructions by function, as callgrind counted them. */
export interface Profile {
  total: number;
  /** Function → its instructions and those of its callees, for functions that do not call themselves. */
  inclusive: ReadonlyMap<string, number>;
}

/**
 * Reads a dump of callgrind, written with `--compress-strings=no` and `--compress-pos=no`. Each function is a block of lines
 * `<position> <instructions>`; a call is `calls=<n> …` with the callee in the `cfn=` before it and its instructions in the
 * line behind it.
 */
export function readProfile(text: string): Profile {
  const inclusive = new Map<string, number>();
  let total = 0;
  let callee = '';
  let called = false;
  for (const line of text.split('\n')) {
    if (line.startsWith('cfn=')) callee = line.slice(4);
    else if (line.startsWith('calls=')) called = true;
    else if (/^[\d+*-]/.test(line)) {
      const instructions = Number(line.split(' ')[1]);
      if (called) inclusive.set(callee, (inclusive.get(callee) ?? 0) + instructions);
      else total += instructions;
      called = false;
    }
  }
  return { total, inclusive };
}
