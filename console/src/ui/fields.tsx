import { createContext, use, useId, type ComponentProps, type ReactNode } from 'react';

const BOX = 'w-full rounded-md border border-line-strong bg-surface px-2.5 aria-invalid:border-danger';

/** Attributes that an input gets from its label. */
const Label = createContext<{ id?: string; 'aria-describedby'?: string }>({});

interface LabelledProps {
  label: string;
  hint?: string | undefined;
  problem?: string | undefined;
  children: ReactNode;
}

/** A label with its input, a hint and an error. */
export function Labelled({ label, hint, problem, children }: LabelledProps) {
  const id = useId();
  const about = `${id}-about`;
  const isDescribed = hint !== undefined || problem !== undefined;
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium">
        {label}
      </label>
      <Label value={{ id, ...(isDescribed && { 'aria-describedby': about }) }}>{children}</Label>
      {isDescribed && (
        <div id={about}>
          {hint !== undefined && <p className="text-xs text-muted">{hint}</p>}
          <ProblemText of={problem} />
        </div>
      )}
    </div>
  );
}

/** Inputs that belong together, with a legend, a hint and an error. */
export const FieldGroup = ({ label, hint, problem, children }: LabelledProps) => (
  <fieldset className="flex min-w-0 flex-col gap-2">
    <legend className="mb-1 font-medium">{label}</legend>
    {hint !== undefined && <p className="text-xs text-muted">{hint}</p>}
    {children}
    <ProblemText of={problem} />
  </fieldset>
);

/** The problem of an input. */
export const ProblemText = ({ of }: { of: string | undefined }) =>
  of !== undefined && (
    <p role="alert" className="text-danger">
      {of}
    </p>
  );

export const TextInput = ({ className = '', ...rest }: ComponentProps<'input'>) => (
  <input {...use(Label)} {...rest} className={`h-9 ${BOX} ${className}`} />
);

export const SelectInput = ({ className = '', ...rest }: ComponentProps<'select'>) => (
  <select {...use(Label)} {...rest} className={`h-9 ${BOX} ${className}`} />
);

export const TextArea = ({ className = '', ...rest }: ComponentProps<'textarea'>) => (
  <textarea {...use(Label)} {...rest} className={`py-1.5 ${BOX} ${className}`} />
);

interface DayFieldProps {
  label: string;
  value: string;
  onChange: (day: string) => void;
}

export const DayField = ({ label, value, onChange }: DayFieldProps) => (
  <Labelled label={label}>
    <TextInput type="date" required value={value} onChange={({ target }) => onChange(target.value)} />
  </Labelled>
);
