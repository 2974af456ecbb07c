import type { Leaderboard } from '../api/queries.ts';
import { Badge } from '../ui/badge.tsx';
import { FieldGroup, ProblemText, Labelled, SelectInput, TextArea, TextInput } from '../ui/fields.tsx';
import { Conditions, type Condition } from './conditions.tsx';
import type { Field, InputOf, Option } from './field.ts';
import { GuardInputs } from './guards.tsx';
import { JsonInput } from './json-input.tsx';
import { LeagueInputs } from './leagues.tsx';
import { RepeatInput } from './repeat.tsx';
import type { Repeat } from '../rule-text.ts';
import { Options } from '../ui/options.tsx';

const TYPES: Partial<Record<Field['input'], string>> = {
  secret: 'password',
  number: 'number',
  day: 'date',
  time: 'time',
  moment: 'datetime-local',
};

/** A time in the form of its input: local, to the minute. */
function localMoment(iso: string): string {
  if (iso === '') return '';
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The moment of a local time to the minute. */
export const isoOf = (local: string): string => (local === '' ? '' : new Date(local).toISOString());

interface FieldInputProps {
  field: Field;
  required: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
  disabled: boolean;
  problem: string | undefined;
}

/** The input of a field. */
export function FieldInput({ field, required, value, onChange, disabled, problem }: FieldInputProps) {
  const { label, hint, input, options = [], lists = [] } = field;
  if (field.custom !== undefined) return field.custom({ value, onChange, problem });
  const shared = { required, disabled, 'aria-invalid': problem !== undefined };
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  if (input === 'yes')
    return (
      <div>
        <label className="flex items-center gap-2">
          <input
            type="checkbox"
            checked={value === true}
            disabled={disabled}
            onChange={({ target }) => onChange(target.checked)}
          />
          <span className="font-medium">{label}</span>
        </label>
        {hint !== undefined && <p className="text-xs text-muted">{hint}</p>}
      </div>
    );
  const common = { label, hint, problem, onChange };
  if (input === 'many')
    return <ChooseMany {...common} options={options} value={(value as string[] | undefined) ?? []} />;
  if (input === 'weekdays')
    return (
      <ChooseMany
        {...common}
        hint={undefined}
        options={WEEKDAYS}
        value={((value as number[] | undefined) ?? []).map(String)}
        onChange={(days) => onChange(days.map(Number).sort((a, b) => a - b))}
      />
    );
  if (input === 'thresholds')
    return <Thresholds {...common} options={options} value={(value as Threshold[] | undefined) ?? []} />;
  if (input === 'conditions')
    return <Conditions {...common} options={options} value={(value as Condition[] | undefined) ?? []} />;
  if (input === 'filter') return <FilterInput {...common} lists={lists} value={(value as Filter | null) ?? {}} />;
  if (input === 'repeat') return <RepeatInput {...common} value={value as Repeat | undefined} disabled={disabled} />;
  if (input === 'json') return <JsonInput {...common} value={value} />;
  if (input === 'leagues')
    return <LeagueInputs {...common} value={(value ?? null) as NonNullable<Leaderboard['leagues']> | null} />;
  if (input === 'guards') return <GuardInputs {...common} value={value ?? {}} />;
  if (input === 'picture') {
    const url = (value as { url: string } | null | undefined)?.url ?? '';
    return (
      <Labelled label={label} hint={hint} problem={problem}>
        <span className="flex items-center gap-2">
          <Badge url={url} />
          <TextInput
            {...shared}
            type="url"
            placeholder="https://"
            value={url}
            onChange={({ target }) => onChange(target.value === '' ? null : { url: target.value })}
          />
        </span>
      </Labelled>
    );
  }
  return (
    <Labelled label={label} hint={hint} problem={problem}>
      {input === 'choice' ? (
        <SelectInput {...shared} value={text} onChange={({ target }) => onChange(target.value)}>
          {!((required || field.initial !== undefined) && text !== '') && (
            <option value="">{required ? 'Choose …' : 'Not set'}</option>
          )}
          <Options of={options.map((option) => [option.value, option.text])} />
        </SelectInput>
      ) : input === 'area' ? (
        <TextArea {...shared} rows={field.rows ?? 2} value={text} onChange={({ target }) => onChange(target.value)} />
      ) : (
        <TextInput
          {...shared}
          type={TYPES[input] ?? 'text'}
          {...(input === 'number' && { step: 'any' })}
          {...(input === 'secret' && { autoComplete: 'new-password' })}
          value={input === 'moment' ? localMoment(text) : text}
          onChange={({ target }) => onChange(input === 'moment' ? isoOf(target.value) : target.value)}
        />
      )}
    </Labelled>
  );
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'].map((text, day) => ({
  value: String(day),
  text,
}));

interface Threshold {
  metricId: string;
  threshold: number;
}

type ThresholdsProps = InputOf<readonly Threshold[], Threshold[]> & { options: readonly Option[] };

/** A threshold per metric. A metric without one does not count, unless no metric has one. */
function Thresholds({ label, options, value, onChange, problem }: ThresholdsProps) {
  const set = (metricId: string, least: string): void => {
    const others = value.filter((one) => one.metricId !== metricId);
    onChange(least === '' ? others : [...others, { metricId, threshold: Number(least) }]);
  };
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 font-medium">{label}</legend>
      <p className="mb-3 text-muted">
        {options.length === 0
          ? 'No metrics yet. Create a metric first.'
          : value.length === 0
            ? 'No metric has a threshold: any event with a positive value extends the streak, whatever its metric.'
            : 'Only metrics with a threshold count. A period needs at least this total of the metric.'}
      </p>
      <div className="grid gap-3 sm:grid-cols-2">
        {options.map(({ value: id, text }) => (
          <Labelled key={id} label={text}>
            <TextInput
              type="number"
              step="any"
              placeholder={value.length === 0 ? 'any event counts' : 'does not count'}
              value={value.find(({ metricId }) => metricId === id)?.threshold ?? ''}
              onChange={({ target }) => set(id, target.value)}
            />
          </Labelled>
        ))}
      </div>
      <ProblemText of={problem} />
    </fieldset>
  );
}

type ChooseManyProps = InputOf<readonly string[], string[]> & { options: readonly Option[] };

function ChooseMany({ label, hint, options, value: chosen, onChange, problem }: ChooseManyProps) {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 font-medium">{label}</legend>
      <div className="max-h-48 overflow-y-auto rounded-md border border-line-strong p-2">
        {options.length === 0 && <span className="text-muted">Nothing to choose from yet.</span>}
        {options.map(({ value, text }) => (
          <label key={value} className="flex items-center gap-2 py-0.5">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ target }) =>
                onChange(target.checked ? [...chosen, value] : chosen.filter((other) => other !== value))
              }
            />
            {text}
          </label>
        ))}
      </div>
      {hint !== undefined && <p className="mt-1 text-xs text-muted">{hint}</p>}
      <ProblemText of={problem} />
    </fieldset>
  );
}

type Filter = Readonly<Record<string, readonly string[]>>;

type FilterInputProps = InputOf<Filter, Filter | null> & { lists: NonNullable<Field['lists']> };

/** Lists of a filter; an empty list restricts nothing. */
function FilterInput({ label, hint, lists, value, onChange }: FilterInputProps) {
  const set = (name: string, chosen: readonly string[]): void => {
    const { [name]: _, ...others } = value;
    const changed = chosen.length === 0 ? others : { ...others, [name]: chosen };
    onChange(Object.keys(changed).length === 0 ? null : changed);
  };
  return (
    <FieldGroup label={label} hint={hint}>
      {lists.map((list) => (
        <ChooseMany
          key={list.name}
          label={list.label}
          options={list.options}
          value={value[list.name] ?? []}
          hint={undefined}
          onChange={(chosen) => set(list.name, chosen)}
          problem={undefined}
        />
      ))}
    </FieldGroup>
  );
}
