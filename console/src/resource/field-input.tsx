import { Badge } from '../ui/badge.tsx';
import { Labelled, SelectInput, TextArea, TextInput } from '../ui/fields.tsx';
import { Conditions, type Condition } from './conditions.tsx';
import type { Field } from './field.ts';
import { GuardInputs } from './guards.tsx';

/** The input of a field, by its kind. */
export function FieldInput<New>({
  field,
  value,
  onChange,
  disabled,
  problem,
}: {
  field: Field<New>;
  value: unknown;
  onChange: (value: unknown) => void;
  disabled: boolean;
  problem: string | undefined;
}) {
  const { label, hint, kind, options = [], required = false } = field;
  const shared = { required, disabled, 'aria-invalid': problem !== undefined };
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  if (kind === 'yes')
    return (
      <label className="flex items-center gap-2">
        <input
          type="checkbox"
          checked={value === true}
          disabled={disabled}
          onChange={({ target }) => onChange(target.checked)}
        />
        <span className="font-medium">{label}</span>
      </label>
    );
  if (kind === 'many')
    return (
      <ChooseMany
        label={label}
        options={options}
        chosen={(value as string[] | undefined) ?? []}
        onChange={onChange}
        problem={problem}
      />
    );
  if (kind === 'conditions')
    return (
      <Conditions
        label={label}
        options={options}
        value={(value as Condition[] | undefined) ?? []}
        onChange={onChange}
      />
    );
  if (kind === 'guards')
    return <GuardInputs label={label} hint={hint} value={value ?? {}} onChange={onChange} problem={problem} />;
  if (kind === 'picture') {
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
      {kind === 'choice' ? (
        <SelectInput {...shared} value={text} onChange={({ target }) => onChange(target.value)}>
          {!(required && text !== '') && <option value="">–</option>}
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </SelectInput>
      ) : kind === 'area' ? (
        <TextArea {...shared} rows={2} value={text} onChange={({ target }) => onChange(target.value)} />
      ) : (
        <TextInput
          {...shared}
          type={kind === 'number' ? 'number' : kind === 'day' ? 'date' : 'text'}
          {...(kind === 'number' && { step: 'any' })}
          value={text}
          onChange={({ target }) => onChange(target.value)}
        />
      )}
    </Labelled>
  );
}

function ChooseMany({
  label,
  options,
  chosen,
  onChange,
  problem,
}: {
  label: string;
  options: readonly { value: string; text: string }[];
  chosen: readonly string[];
  onChange: (value: string[]) => void;
  problem: string | undefined;
}) {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 font-medium">{label}</legend>
      <div className="max-h-44 overflow-y-auto rounded-md border border-line-strong p-2">
        {options.length === 0 && <span className="text-muted">There is none to choose from.</span>}
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
      {problem !== undefined && (
        <p role="alert" className="text-danger">
          {problem}
        </p>
      )}
    </fieldset>
  );
}
