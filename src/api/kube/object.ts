// What every kind has. The kinds' classes extend it and add spec and status. Read by schema/ to render the CRDs. Decides nothing.
import 'reflect-metadata';
import { IsObject, IsOptional, IsString } from 'class-validator';
import type { ObjectMeta } from '../meta.js';

export class ApiObject {
  @IsString()
  @IsOptional()
  apiVersion?: string;
  @IsString()
  @IsOptional()
  kind?: string;
  @IsObject()
  @IsOptional()
  metadata!: ObjectMeta;
}
