import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { answer } from '../api/answer.ts';
import { admin } from '../api/client.ts';
import { useSettled } from '../api/use-settled.ts';
import { Labelled, TextInput } from './fields.tsx';
import { Options } from './options.tsx';

const FOUND = 8;

interface UserInputProps {
  label: string;
  hint: string;
  problem?: string | undefined;
  value: string;
  onChange: (id: string) => void;
}

/** A user's ID. Users are suggested by the beginning of their ID, name or e-mail address. */
export function UserInput({ label, hint, problem, value, onChange }: UserInputProps) {
  const list = useId();
  const search = useSettled(value.trim());
  const found = useQuery({
    queryKey: ['users', 'found', search, FOUND],
    queryFn: () => answer(admin.GET('/v1/users', { params: { query: { limit: FOUND, skip: 0, search } } })),
    enabled: search !== '',
  });
  return (
    <Labelled label={label} hint={hint} problem={problem}>
      <TextInput
        list={list}
        aria-invalid={problem !== undefined}
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      <datalist id={list}>
        <Options of={(found.data ?? []).map(({ id, name }) => [id, name ?? id])} />
      </datalist>
    </Labelled>
  );
}
