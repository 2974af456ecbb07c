import { Plus, X } from 'lucide-react';
import { useState } from 'react';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { FieldGroup, TextInput } from '../../ui/fields.tsx';

/** Names with values. `null`: a secret that is stored and stays. */
export type KeyValues = Readonly<Record<string, string | null>>;

interface KeyValuesInputProps {
  label: string;
  hint: string;
  isSecret?: boolean;
  value: unknown;
  onChange: (value: KeyValues) => void;
  problem: string | undefined;
}

/** Headers of requests. The values of secret ones can be written, but not read. */
export function KeyValuesInput({ label, hint, isSecret = false, value, onChange, problem }: KeyValuesInputProps) {
  const mayChange = useMayChange();
  const [rows, setRows] = useState(() => Object.entries((value ?? {}) as KeyValues));
  const [stored] = useState(() => new Set(rows.flatMap(([name, one]) => (one === null ? [name] : []))));
  const set = (changed: typeof rows): void => {
    setRows(changed);
    onChange(Object.fromEntries(changed.filter(([name]) => name !== '')));
  };
  return (
    <FieldGroup label={label} hint={hint} problem={problem}>
      {rows.map(([name, one], at) => {
        const change = (row: (typeof rows)[number]): void =>
          set(rows.map((other, index) => (index === at ? row : other)));
        return (
          // oxlint-disable-next-line react/no-array-index-key -- a name is typed letter by letter
          <div key={at} className="flex items-center gap-2">
            <TextInput
              aria-label={`${label}: name`}
              placeholder="Name"
              autoComplete="off"
              spellCheck={false}
              value={name}
              readOnly={stored.has(name)}
              onChange={({ target }) => change([target.value.trim(), one])}
            />
            <TextInput
              aria-label={`${label}: value of ${name === '' ? 'the new one' : name}`}
              placeholder={one === null ? 'stored: leave empty to keep' : 'Value'}
              {...(isSecret ? { type: 'password', autoComplete: 'new-password' } : { spellCheck: false })}
              value={one ?? ''}
              onChange={({ target }) => change([name, target.value === '' && stored.has(name) ? null : target.value])}
            />
            {mayChange && (
              <Button
                look="bare"
                aria-label={`Remove: ${name === '' ? 'the new one' : name}`}
                onClick={() => set(rows.filter((_, index) => index !== at))}
              >
                <X size={15} aria-hidden />
              </Button>
            )}
          </div>
        );
      })}
      {mayChange && (
        <Button className="self-start" aria-label={`Add: ${label}`} onClick={() => setRows([...rows, ['', '']])}>
          <Plus size={15} aria-hidden /> Add
        </Button>
      )}
    </FieldGroup>
  );
}
