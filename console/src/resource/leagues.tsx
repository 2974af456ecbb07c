import { useState } from 'react';
import type { Leaderboard } from '../api/queries.ts';
import type { InputOf } from './field.ts';
import { ProblemText, Labelled, SelectInput, TextArea, TextInput } from '../ui/fields.tsx';

type Leagues = NonNullable<Leaderboard['leagues']>;

/** Leagues that work without a change. */
const FIRST: Leagues = {
  tiers: [{ name: 'Bronze' }, { name: 'Silver' }, { name: 'Gold' }],
  cohortUsers: 30,
  promoted: 7,
  demoted: 5,
};

const NUMBERS = [
  { name: 'cohortUsers', label: 'Users in a group, at most' },
  { name: 'promoted', label: 'Of a group, move up' },
  { name: 'demoted', label: 'Of a group, move down' },
] as const;

const linesOf = (text: string): string[] => text.split('\n').flatMap((line) => line.trim() || []);
const textOf = ({ tiers }: Leagues): string => tiers.map(({ name }) => name).join('\n');

/** Lines with a name are tiers. They keep their badges: those of the same name, or if the number of tiers stays, of the same place. */
function tiersOf(text: string, before: Leagues['tiers']): Leagues['tiers'] {
  const names = linesOf(text);
  const isSame = names.length === before.length;
  return names.map((name, at) => ({ ...(isSame ? before[at] : before.find((tier) => tier.name === name)), name }));
}

/** The leagues of a leaderboard; off: `null`. */
export function LeagueInputs({ label, hint, value, onChange, problem }: InputOf<Leagues | null>) {
  const [typed, setTyped] = useState(() => textOf(value ?? FIRST));
  // What is stored may be read again while nothing is typed.
  const isTyped = value === null || textOf(value) === linesOf(typed).join('\n');
  const tiers = isTyped ? typed : textOf(value);
  const change = (changes: Partial<Leagues>): void => onChange({ ...(value ?? FIRST), ...changes });
  return (
    <fieldset className="flex min-w-0 flex-col gap-2">
      <label className="flex items-center gap-2 font-medium">
        <input
          type="checkbox"
          checked={value !== null}
          onChange={({ target }) => onChange(target.checked ? { ...FIRST, tiers: tiersOf(tiers, FIRST.tiers) } : null)}
        />
        {label}
      </label>
      {hint !== undefined && <p className="text-xs text-muted">{hint}</p>}
      {value !== null && (
        <>
          <Labelled label="Tiers, the lowest first" hint="One name in each line">
            <TextArea
              rows={Math.min(12, Math.max(3, tiers.split('\n').length))}
              value={tiers}
              onChange={({ target }) => {
                setTyped(target.value);
                change({ tiers: tiersOf(target.value, value.tiers) });
              }}
            />
          </Labelled>
          {NUMBERS.map(({ name, label: text }) => (
            <Labelled key={name} label={text}>
              <TextInput
                type="number"
                step={1}
                aria-invalid={problem?.includes(`leagues.${name}`) === true}
                value={value[name] ?? ''}
                onChange={({ target }) =>
                  change({ [name]: target.value === '' ? undefined : Number(target.value) } as Partial<Leagues>)
                }
              />
            </Labelled>
          ))}
          <Labelled label="Users without a score">
            <SelectInput
              value={value.inactive ?? 'stay'}
              onChange={({ target }) => change({ inactive: target.value as 'stay' | 'fall' })}
            >
              <option value="stay">stay in their tier</option>
              <option value="fall">fall by one tier</option>
            </SelectInput>
          </Labelled>
        </>
      )}
      <ProblemText of={problem} />
    </fieldset>
  );
}
